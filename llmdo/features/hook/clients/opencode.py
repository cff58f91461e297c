"""opencode: https://opencode.ai/docs/plugins.

It has no hooks in settings: a plugin of a few lines asks llmdo before each tool call, and throws to deny it, which
stops the call whatever its own rules say. Nothing printed is no opinion. A plugin cannot ask a person (`permission.ask`
is called by no version so far), so what llmdo would ask about is denied, unless opencode asks by itself.

Every failure throws: a program that is missing, crashes, is killed, takes too long or prints anything else. A session
below another one is that of an agent: the plugin looks up the topmost one, and remembers the agent that each message
is for. Where a person gives the session another agent, it goes on as that one.
"""

from __future__ import annotations

import json

from llmdo.features.hook.events import (
    MAIN_CONTEXT,
    Access,
    ClientEvent,
    named,
    patched_files,
    searched_folders,
    text,
    tool_input,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

FORMAT = "opencode"
PRODUCT = "opencode"
MAIN = "build"
IDENTIFIES = True
"""Whether events say which agent calls."""
CAN_ASK = False
UNASKED: frozenset[str] = frozenset()
AGAIN = "task, again"
"""The path of a task that goes on: the agent that had it is given more words."""
FORWARDS = frozenset({AGAIN})
STAND_INS: Mapping[str, str] = {}
SETTINGS = ".opencode/plugin/llmdo.js"
EVENTS = {"chat.message": None, "tool.execute.before": None}
"""The events that it reports, each with the tools that it is about; None for all."""
SECOND = 1000
"""A second as its settings write it."""
FAILING = "the plugin denies a call whose answer does not come, whatever the reason"
TRUSTING = "it loads the plugins of a project without a question, but none with `--pure` or OPENCODE_PURE"

_FILES = {
    "read": "filePath",
    "edit": "filePath",
    "write": "filePath",
    "multiedit": "filePath",
    "lsp": "filePath",
}
_CHANGES = ("apply_patch", "edit", "multiedit", "patch", "write")
_FOLDERS = ("glob", "grep", "list")
_TALKS = ("invalid", "plan_enter", "plan_exit", "StructuredOutput")
"""Tools that do nothing to the world; a person is asked before another agent goes on."""
_BUILT_IN = frozenset({"codesearch", "question", "skill", "todoread", "todowrite", "websearch"})
_RESOURCES = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")


def event(data: Mapping[str, object]) -> ClientEvent:
    """The event in the JSON of the plugin.

    Raises:
        UnreadableEventError: A part of it is missing or of another type.
    """
    name = data.get("hook_event_name")
    session, folder = text(data.get("session_id"), "session_id"), text(data.get("cwd"), "cwd")
    if name == "chat.message":
        resumed = data.get("source") != "startup"
        return ClientEvent(kind="start", session=session, folder=folder, is_resumed=resumed)
    if name != "tool.execute.before":
        return ClientEvent(kind="other", session=session, folder=folder)
    tool, given = text(data.get("tool_name"), "tool_name"), tool_input(data.get("tool_input"))
    return ClientEvent(
        kind="call",
        session=session,
        folder=folder,
        context=MAIN_CONTEXT if data.get("agent_id") is None else text(data["agent_id"], "agent_id"),
        agent=text(data.get("agent_type"), "agent_type"),
        tool=AGAIN if tool == "task" and given.get("task_id") else tool,
        arguments=given,
    )


def access(event: ClientEvent) -> Access:
    """The access of a call.

    Raises:
        UnreadableEventError: An argument that says what it does is missing or of another type.
    """
    tool, arguments = event.tool, event.arguments
    line = "edit" if tool in _CHANGES else tool
    if tool in _FILES:
        return Access(lines=(line,), files=(text(arguments.get(_FILES[tool]), _FILES[tool]),))
    if tool in _CHANGES:
        patch = text(arguments.get("patchText"), "patchText")
        return Access(lines=(line,), files=patched_files(patch))
    if tool in _FOLDERS:
        patterns = (arguments.get("include"), arguments.get("pattern") if tool == "glob" else None)
        folders = searched_folders(arguments.get("path"), "path", *patterns)
        return Access(lines=(line,), folders=folders, names=named(*patterns) if tool == "grep" else None)
    if tool == "bash":
        return Access(lines=(line,), command=text(arguments.get("command"), "command"), is_refined=True)
    if tool == "webfetch":
        return Access(lines=(line,), host=text(arguments.get("url"), "url"))
    if tool in ("task", AGAIN):
        return Access(lines=("task",), starts=text(arguments.get("subagent_type"), "subagent_type"))
    if tool in _RESOURCES:
        return Access(lines=(), server=text(arguments.get("server"), "server"))
    if tool in _TALKS:
        return Access(lines=("question",))
    return Access(lines=(line,)) if tool in _BUILT_IN else Access(lines=(), server=tool, joint="_")


def answer(decision: Literal["ask", "deny"], reason: str, *, is_question: bool) -> tuple[str, int]:  # noqa: ARG001
    """What is printed for a decision, and the exit code."""
    return json.dumps({"decision": decision, "reason": reason}), 0


def own_file(command: str, seconds: int) -> str:
    """The plugin."""
    return _PLUGIN.replace("COMMAND", json.dumps(command)).replace("MILLISECONDS", str(SECOND * seconds))


_PLUGIN = """\
// Asks llmdo before each tool call: written by `llmdo hook install opencode`.
import { spawn } from "node:child_process"

const command = COMMAND

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
      }, MILLISECONDS)
      let output = "", error = ""
      child.stdout.on("data", (part) => (output += part))
      child.stderr.on("data", (part) => (error += part))
      child.stdin.on("error", () => {})
      child.on("error", () => deny())
      child.on("close", (code) => {
        clearTimeout(late)
        if (code === 0 && output === "") return resolve()
        try { deny(code === 0 ? JSON.parse(output).reason : error.trim().split("\\n").pop()) } catch { deny() }
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
"""
