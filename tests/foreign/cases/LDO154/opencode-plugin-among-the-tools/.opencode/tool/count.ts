import { tool } from "@opencode-ai/plugin"
import { lower } from "./words"

const count = tool({ description: "Counts.", args: {}, execute: async () => lower("3") })
export const helper = ({ size }: { size: number }) => size
export const whole = { description: "Counts all.", args: {}, execute: async () => "4" }
export default count
