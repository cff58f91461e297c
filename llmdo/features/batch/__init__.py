"""Many inputs for one entry: items, the file that keeps them, and the order in which they are worked off.

`inputs` makes items of files and records; `store` keeps all of them before anything starts; `scheduling` takes one
after the other and keeps its result, which `rows` writes for programs. An item is a run like any other, and its
journal, never the store, is the truth about its progress: so nothing is lost or done twice.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="batch",
    commands={"batch": "llmdo.features.batch.cli"},
    views=("llmdo.features.batch.view",),
    pages=("batch.md",),
)
