"""An MCP server over stdin and stdout with two tools that do nothing, as a program of its own."""

import json
import sys
from typing import Any

COMMAND, ARGS = sys.executable, [__file__]
"""The words that start it."""
_SCHEMA = {"type": "object", "properties": {}}
_HINTS = {
    "look": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    "put": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
}
_TOOLS = [
    {
        "name": name,
        "description": "Does nothing.",
        "inputSchema": _SCHEMA,
        "annotations": _HINTS[name],
    }
    for name in ("look", "put")
]


def _result(asked: dict[str, Any]) -> object:
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "servant", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": _TOOLS}
    return {"content": [{"type": "text", "text": "served"}]} if method == "tools/call" else {}


if __name__ == "__main__":
    for _line in sys.stdin:
        _asked = json.loads(_line)
        if "id" in _asked:
            print(json.dumps({"jsonrpc": "2.0", "id": _asked["id"], "result": _result(_asked)}), flush=True)
