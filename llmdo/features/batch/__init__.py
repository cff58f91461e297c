"""Many inputs for one entry: items, the file that keeps them, and the order in which they are worked off.

`inputs` makes items of files and records; `store` keeps them, all of them before anything is started; `scheduling`
takes them one after the other and puts down what became of each, which `rows` writes for programs. What an item does
is a run like any other, and its journal, never the store, says how far it came: so nothing is lost or done twice.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="batch",
    commands={"batch": "llmdo.features.batch.cli"},
    views=("llmdo.features.batch.view",),
    pages=("batch.md",),
)
