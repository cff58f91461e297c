import { tool } from "@opencode-ai/plugin"

async function asked(path: string) {
  const answer = await fetch(`https://api.github.com${path}`)
  return await answer.json()
}

export default tool({
  description: "Finds the pull requests about a tide.",
  args: { tide: tool.schema.string() },
  async execute(args) {
    return JSON.stringify(await asked(`/search/issues?q=${args.tide}`))
  },
})
