"""`llmdo import`: projects of other tools, written as workspaces of ours.

`plan` is the part that our formats can express, with remarks on the rest; `names`, `code` and `stubs` are parts of
it; `workspace` writes it, checks the result and compares both reaches.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="importing",
    commands={"import": "llmdo.features.importing.cli"},
    pages=("moving.md",),
)
