"""The workspaces of a suite: one agent with all tools, and a planner that acts with a reader that has no effects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from bench.agentdojo.models import MOST
from bench.agentdojo.tools import SUITES, capabilities

if TYPE_CHECKING:
    from pathlib import Path

Team = Literal["ungated", "single", "split"]

_FLOWS = '[flows]\n"data.untrusted -> x" = "needs_approval"\n'
_TYPES = f"""\
from typing import Annotated
from pydantic import BaseModel, Field

class Cents(BaseModel):
    cents: Annotated[int, Field(ge=0, le={MOST})]
"""


def write(root: Path, suite: str, team: Team) -> None:
    """Writes the workspace of a team for `suite`."""
    tools = SUITES[suite]
    if team == "split":
        toolsets = {
            "acts": [name for name, tool in tools.items() if tool.acts or tool.is_own],
            "reads": [name for name, tool in tools.items() if not (tool.acts or tool.is_own)],
        }
        workers = {
            "planner": "toolsets: [acts, reader, counter]",
            "reader": "toolsets: [reads]\noutput: sealed",
            "counter": "schema_out_ref: types_of.py:Cents",
        }
    else:
        toolsets, workers = {"all": [*tools]}, {"single": "toolsets: [all]"}
    (root / "llmdo.toml").write_text(_manifest(suite, team, toolsets, next(iter(workers))), encoding="utf-8")
    (root / "types_of.py").write_text(_TYPES, encoding="utf-8")
    lines = [f"{name} = cases.toolset({name!r}, {suite!r}, {names!r})" for name, names in toolsets.items()]
    (root / "tools.py").write_text("\n".join(["from bench.agentdojo import cases", *lines]), encoding="utf-8")
    lines = [f"{name} = models.{name}()" for name in workers]
    (root / "models.py").write_text(
        "\n".join(["from bench.agentdojo import models", *lines]), encoding="utf-8"
    )
    for name, header in workers.items():
        text = f"---\nname: {name}\nmodel: python:models.py:{name}\n{header}\n---\nDo what is asked.\n"
        (root / f"{name}.worker").write_text(text, encoding="utf-8")


def _manifest(suite: str, team: Team, toolsets: dict[str, list[str]], first: str) -> str:
    tables = []
    for toolset, names in toolsets.items():
        declared = ", ".join(f"{name} = {json.dumps(capabilities(suite, name))}" for name in names)
        targets = ", ".join(f"{name} = {json.dumps(SUITES[suite][name].targets)}" for name in names)
        tables.append(f"[toolsets.{toolset}]\ncapabilities = {{ {declared} }}\ntargets = {{ {targets} }}\n")
    return "\n".join(
        [
            f'schema = 1\n\n[workspace]\nname = "{suite}"\nworkers = ["*.worker"]\ntoolset-modules = ["tools.py"]\n',
            *tables,
            '[approvals.rules]\n"x" = "allowed"\n',
            "" if team == "ungated" else _FLOWS,
            f'[entries.go]\nworker = "{first}"\ninput = "go"\nlimits = {{ requests = 1000 }}\n',
        ]
    )
