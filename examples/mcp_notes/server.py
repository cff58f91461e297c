"""An MCP server over stdio for a folder of notes, in plain Python: `python3 server.py FOLDER`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

NAME = re.compile(r"[a-z0-9-]{1,40}")
TEXT = {"type": "string"}

TOOLS = [
    {
        "name": "search_notes",
        "description": "Names the notes that hold all of these words, the best first.",
        "inputSchema": {"type": "object", "properties": {"words": TEXT}, "required": ["words"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "read_note",
        "description": "Returns the text of one note.",
        "inputSchema": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "add_note",
        "description": "Writes a note, in place of one with the same name.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": TEXT, "text": TEXT},
            "required": ["name", "text"],
        },
        "annotations": {"destructiveHint": True},
    },
    {
        "name": "delete_note",
        "description": "Deletes a note.",
        "inputSchema": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        "annotations": {"destructiveHint": True},
    },
]


def search_notes(folder: Path, words: str) -> str:
    wanted = words.lower().split()
    matches = []
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8").lower()
        if all(word in text for word in wanted):
            matches.append((-sum(text.count(word) for word in wanted), path.stem))
    return "\n".join(name for _, name in sorted(matches))


def read_note(folder: Path, name: str) -> str:
    return path_of(folder, name).read_text(encoding="utf-8")


def add_note(folder: Path, name: str, text: str) -> str:
    path_of(folder, name).write_text(text, encoding="utf-8")
    return f"wrote {name}"


def delete_note(folder: Path, name: str) -> str:
    path_of(folder, name).unlink()
    return f"deleted {name}"


def path_of(folder: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a note")
    return folder / f"{name}.md"


WORK = {
    "search_notes": search_notes,
    "read_note": read_note,
    "add_note": add_note,
    "delete_note": delete_note,
}


def answer(folder: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1.0"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            try:
                result = WORK[params["name"]](folder, **params.get("arguments", {}))
            except (OSError, ValueError, TypeError, KeyError) as error:
                return {"content": [{"type": "text", "text": f"that did not work: {error}"}], "isError": True}
            return {"content": [{"type": "text", "text": result}]}
        case "ping":
            return {}
    raise LookupError(method)


def main(folder: Path) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(folder, message["method"], message.get("params") or {})
        except LookupError:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
