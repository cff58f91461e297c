"""Stand-ins: tools in Python that declare the capabilities of the original, and still have to be written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.policy.authority import Capability

MODULE = "tools/imported.py"

_HEAD = '''"""Tools that llmdo has no counterpart for. Each declares what it can do; write it, or take it away."""

from pydantic_ai import FunctionToolset
'''


@dataclass(frozen=True, slots=True)
class StandIn:
    """One tool that has to be written, a toolset of its own."""

    name: str
    """Of the toolset and of its tool."""
    called: str
    """Its original name."""
    capabilities: tuple[Capability, ...]


def module(stubs: Iterable[StandIn]) -> str:
    """The Python module that holds them."""
    return _HEAD + "".join(map(_tool, sorted(stubs, key=lambda stub: stub.name)))


def _tool(stub: StandIn) -> str:
    declared = json.dumps([str(each) for each in stub.capabilities])
    # The tool's name is no Python name of its own, so that it cannot hide the toolset.
    return f"""
{stub.name} = FunctionToolset()


@{stub.name}.tool_plain(name={json.dumps(stub.name)}, metadata={{"capabilities": {declared}}})
def _{stub.name}(request: str) -> str:
    \"\"\"Stands for the tool {_quoted(stub.called)} of the original.\"\"\"
    raise NotImplementedError({json.dumps(f"{stub.called} is still to be written")})

"""


def _quoted(text: str) -> str:
    return json.dumps(text).replace("\\\\", "\\\\\\\\").replace('"', "`")
