"""The files that come with llmdo: JSON Schemas, templates of `llmdo init`, and Python that `llmdo import` adds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Kind = Literal["adapters", "schemas", "templates"]


def folder(kind: Kind) -> Path:
    """The folder of the files of this kind: inside an installed package, next to it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "data" / kind
    return installed if installed.is_dir() else package.parent / kind


def read(kind: Kind, name: str) -> str:
    """The text of the file `name` of this kind."""
    return (folder(kind) / name).read_text(encoding="utf-8")
