"""The capabilities of fast-agent's tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, SEARCHES, SERVES, Line
from llmdo.foreign.team import capability_of

_CARDS = "https://fast-agent.ai/agents/defining/agent_cards/"
_ENVIRONMENTS = "https://fast-agent.ai/agents/environments/"
_CONFIGURATION = "https://fast-agent.ai/ref/config_file/"

TABLE = (
    Line("shell", RUNS, "allowed", "open", _ENVIRONMENTS),
    Line("read_text_file", ("fs.read",), "allowed", "declared", _ENVIRONMENTS),
    Line("write_text_file", EDITS, "allowed", "declared", _ENVIRONMENTS),
    Line("SERVER", SERVES, "allowed", "open", _CARDS),
    Line("SERVER with a url", (*SERVES, "net.connect"), "allowed", "open", _CARDS),
    Line("web_search", SEARCHES, "allowed", "declared", _CONFIGURATION),
    Line("web_fetch", FETCHES, "allowed", "declared", _CONFIGURATION),
    Line(
        "harness_tools",
        ("fs.write", "net.connect", capability_of("harness_tools")),
        "allowed",
        "open",
        _CARDS,
    ),
    Line("agent of another machine", ("data.untrusted", "net.connect"), "allowed", "open", _CARDS),
    Line("function_tools", (capability_of("FUNCTION"),), "allowed", "declared", _CARDS),
    Line("agents", ("agent.delegate",), "allowed", "declared", _CARDS),
    Line("human_input", (), "allowed", "declared", _CARDS),
)
"""The grants of a card by its keys. Its command line asks about none of them."""
