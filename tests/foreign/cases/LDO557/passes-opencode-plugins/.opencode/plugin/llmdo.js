// Asks llmdo before each tool call: written by `llmdo hook install opencode`.
import { spawn } from "node:child_process"

const command = "llmdo hook opencode || { echo 'denied: llmdo did not answer; run: llmdo hook doctor opencode' >&2; exit 2; }"

export const Llmdo = async ({ client, directory }) => {
  const agents = new Map() // by session, the agent that the last message was for
  const begun = new Set() // the topmost sessions that llmdo was told about

  const ask = (event) =>
    new Promise((resolve, reject) => {
      const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "pipe"], detached: true })
      const deny = (why) => reject(new Error(why || "denied: llmdo did not answer"))
      const late = setTimeout(() => {
        deny("denied: llmdo took too long")
        try { process.kill(-child.pid, "SIGKILL") } catch {}
      }, 60000)
      let output = "", error = ""
      child.stdout.on("data", (part) => (output += part))
      child.stderr.on("data", (part) => (error += part))
      child.stdin.on("error", () => {})
      child.on("error", () => deny())
      child.on("close", (code) => {
        clearTimeout(late)
        if (code === 0 && output === "") return resolve()
        try { deny(code === 0 ? JSON.parse(output).reason : error.trim().split("\n").pop()) } catch { deny() }
      })
      child.stdin.end(JSON.stringify({ cwd: directory, ...event }))
    })

  const top = async (id) => {
    const { data } = await client.session.get({ path: { id } })
    if (!data) throw new Error("denied: llmdo does not find the session")
    return data.parentID ? top(data.parentID) : id
  }

  const begin = async (id) => {
    if (begun.has(id)) return
    const { data } = await client.session.messages({ path: { id } })
    const source = data && data.length === 0 ? "startup" : "resume"
    await ask({ hook_event_name: "chat.message", session_id: id, source })
    begun.add(id)
  }

  return {
    "chat.message": async ({ sessionID }, { message }) => {
      agents.set(sessionID, message.agent)
      try { await begin(await top(sessionID)) } catch {} // every call will be denied, which says why
    },
    "tool.execute.before": async ({ tool, sessionID }, { args }) => {
      const session = await top(sessionID)
      const agent = { agent_type: agents.get(sessionID), ...(session === sessionID ? {} : { agent_id: sessionID }) }
      const call = { tool_name: tool, tool_input: args, session_id: session, ...agent }
      await ask({ hook_event_name: "tool.execute.before", ...call })
    },
  }
}
