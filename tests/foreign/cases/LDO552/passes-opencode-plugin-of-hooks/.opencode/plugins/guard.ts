import type { Plugin } from "@opencode-ai/plugin"

export const Guard: Plugin = async () => ({
  "tool.execute.before": async (input: { tool: string; callID: string }, output: { args: any }) => {
    if (input.tool === "bash") output.args.command = `set -e; ${output.args.command}`
    console.log(JSON.stringify({ tool: input.tool, text: "before" }))
  },
})
