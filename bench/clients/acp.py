"""A client that speaks the Agent Client Protocol, as several do with editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.clients.rpc import talking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.clients.script import Script


def work(words: Sequence[str], environ: Mapping[str, str], script: Script, session: str) -> None:
    """Lets the session of a client work in the project of a script, and keeps the calls that it asks about."""

    def heard(message: Mapping[str, Any]) -> object:
        if message["method"] != "session/request_permission":
            return None
        call = message["params"]["toolCall"]["toolCallId"].rpartition("__")[2]
        kind = "allow_once" if script.permits(call) else "reject_once"
        option = next(each["optionId"] for each in message["params"]["options"] if each["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": option}}

    with talking(words, environ, script.project, heard) as talk:
        talk.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        new = talk.request("session/new", {"cwd": str(script.project), "mcpServers": []})
        for text in script.prompts(session):
            prompt = [{"type": "text", "text": text}]
            talk.request("session/prompt", {"sessionId": new["sessionId"], "prompt": prompt})
