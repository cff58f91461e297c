import { tool } from "@opencode-ai/plugin"

export default tool({ description: "Deploys.", args: {}, execute: async () => "done" })
