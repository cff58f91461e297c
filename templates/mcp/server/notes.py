"""An MCP server over stdio for a folder of notes, in plain Python: `python3 server/notes.py FOLDER`."""

import json
import re
import sys
from pathlib import Path

NAME = re.compile(r"[a-z0-9-]{1,40}")


def search_notes(folder: Path, words: str) -> str:
    """Names the notes that hold all of these words."""
    names = [
        path.stem
        for path in sorted(folder.glob("*.md"))
        if all(word in path.read_text(encoding="utf-8").lower() for word in words.lower().split())
    ]
    return "\n".join(names) or "no note holds all of them"


def read_note(folder: Path, name: str) -> str:
    """Returns the text of one note."""
    return path_of(folder, name).read_text(encoding="utf-8")


def delete_note(folder: Path, name: str) -> str:
    """Deletes a note."""
    path_of(folder, name).unlink()
    return f"deleted {name}"


def path_of(folder: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a note")
    return folder / f"{name}.md"


TOOLS = {
    "search_notes": (search_notes, "words"),
    "read_note": (read_note, "name"),
    "delete_note": (delete_note, "name"),
}
"""Each tool with its one argument, a text."""


def listed(name: str) -> dict[str, object]:
    """A tool as the server describes it: this is what `llmdo lock` records, and what a model sees."""
    work, argument = TOOLS[name]
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": work.__doc__, "inputSchema": schema}


def called(folder: Path, name: str, arguments: dict[str, str]) -> dict[str, object]:
    """What came of a call."""
    try:
        work, _ = TOOLS[name]
        return {"content": [{"type": "text", "text": work(folder, **arguments)}]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        return {"content": [{"type": "text", "text": f"that did not work: {error}"}], "isError": True}


def answer(folder: Path, message: dict) -> dict[str, object]:
    """The answer to a request."""
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1.0"},
            }
        case "tools/list":
            return {"tools": [listed(name) for name in TOOLS]}
        case "tools/call":
            return called(folder, params["name"], params.get("arguments") or {})
        case "ping":
            return {}
    raise LookupError(message["method"])


def main(folder: Path) -> None:
    """Answers the requests on stdin, one a line."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(folder, message)
        except LookupError:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
