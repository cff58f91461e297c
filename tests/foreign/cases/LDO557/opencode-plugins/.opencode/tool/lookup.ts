import { tool } from "@opencode-ai/plugin"

export const ticket = tool({ description: "A ticket.", args: {}, execute: async () => "none" })
