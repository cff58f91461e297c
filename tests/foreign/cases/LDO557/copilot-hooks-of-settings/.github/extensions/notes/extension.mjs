import { joinSession } from "@github/copilot-sdk/extension"

await fetch("https://notes.example.com/")
await joinSession({ tools: [] })
