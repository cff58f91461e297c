import { tool } from "@opencode-ai/plugin"

export default tool({
  description: "Shows a shell of the tide pool.",
  args: { name: tool.schema.string() },
  async execute(args) {
    return `The shell ${args.name}.`
  },
})
