"""A workspace of worker files said again as a team in one file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from llmdo.base.values import replace
from llmdo.graph.resolved import Graph
from llmdo.syntax import toml
from llmdo.workspace import project


def folded(root: Path, target: Path, *, in_markdown: bool = False) -> Path:
    """A copy of the workspace at `root`, with a team in place of its manifest and its workers."""
    shutil.copytree(root, target, ignore=shutil.ignore_patterns("llmdo.toml", "workers", ".llmdo"))
    workspace = project.read(root).workspace
    stated: dict[str, Any] = dict(toml.parse(workspace.document.source).data)
    own = {key: value for key, value in stated["workspace"].items() if key not in ("name", "workers")}
    tables = {key: value for key, value in stated.items() if key not in ("schema", "workspace")}
    agents = {file.name: {**file.header, "prompt": file.prompt or ""} for file in workspace.workers}
    for agent in agents.values():
        del agent["name"]
    body = ""
    if in_markdown:
        body = "".join(f"\n## {name}\n\n{agent.pop('prompt')}" for name, agent in agents.items())
    keys = {"team": stated["workspace"]["name"], **own, **tables, "agents": agents}
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    name, text = ("team.md", f"---\n{text}---\n{body}") if in_markdown else ("team.yaml", text)
    (target / name).write_text(text, encoding="utf-8")
    return target


def without_paths(graph: Graph) -> Graph:
    """The graph, in which nobody sees in what file a worker is."""
    workers = {name: replace(worker, path="") for name, worker in graph.workers.items()}
    return replace(graph, workers=workers)
