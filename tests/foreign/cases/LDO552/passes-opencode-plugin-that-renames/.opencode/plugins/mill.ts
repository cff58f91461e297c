import type { Plugin } from "@opencode-ai/plugin"

export const Mill: Plugin = async () => ({
  "tool.execute.before": async (input, output) => {
    const { tool: toolName, callID } = input;
    if (toolName === "bash") output.args.command = `nice ${output.args.command} # ${callID}`
  },
  "tool.execute.after": async ({ tool: grinder }, output) => {
    output.title = `${grinder} is done`
  },
})
