"""The headers of llm-do's agents: their keys, and their form."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.foreign.team import Remark
from llmdo.graph.models import problem_of
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.syntax.document import Document

KEYS = frozenset(
    {
        "attachments", "compatible_models", "description", "entry", "input_model_ref", "model", "name",
        "schema_in_ref", "schema_out_ref", "server_side_tools", "tools", "toolsets",
    }
)  # fmt: skip

CLASS_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*[.:][A-Za-z][A-Za-z0-9_]{0,63}")
"""A toolset in a header, by the path of its class."""
_APPROVALS = "_approval_config"
"""The part of a toolset's configuration that names the calls without a question."""


def is_hosted(model: str) -> bool:
    """Whether a provider runs it: a file of the workspace is never meant, however the text looks."""
    return ":" in model and not model.startswith(("python:", "replay:")) and problem_of(model) is None


def toolsets(document: Document) -> Iterator[tuple[str, Place]]:
    """The names in `toolsets` and `tools`, lists or tables, each with its place."""
    seen: set[str] = set()
    for key in ("toolsets", "tools"):
        listed = document.data.get(key)
        for number, name in enumerate(listed if isinstance(listed, list | dict) else ()):
            if isinstance(name, str) and name not in seen:
                seen.add(name)
                yield (
                    name,
                    Place(document, (key, name) if isinstance(listed, dict) else (key, number), of_key=True),
                )


def own_name(path: str, document: Document) -> str:
    """The name of an agent in its project: by its header, or after its file."""
    name = document.data.get("name")
    return name if isinstance(name, str) and name else PurePosixPath(path).stem


def configuration(name: str, place: Place) -> tuple[dict[str, object], tuple[Remark, ...]]:
    """The configuration of a toolset's class in a header, and remarks on omitted parts: rules say who is asked."""
    config = place.data if isinstance(place.data, dict) else {}
    message = f"`{_APPROVALS}` of `{name}` is not carried over: rules decide which calls ask"
    remarks = (Remark(place.location, message),) if _APPROVALS in config else ()
    return {key: value for key, value in config.items() if key != _APPROVALS}, remarks
