import { tool } from "@opencode-ai/plugin"

export default tool({ description: "Deploys.", args: {}, execute: async () => "done" })
export const undo = tool({ description: "Takes it back.", args: {}, execute: async () => "done" })
