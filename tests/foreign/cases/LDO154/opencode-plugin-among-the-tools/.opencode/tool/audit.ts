import type { Plugin } from "@opencode-ai/plugin"

export const Audit: Plugin = async ({ $ }) => ({
  "tool.execute.after": async () => { await $`echo done >> audit.log` },
})
export default Audit
