"""The language server of workspaces: the findings of `check` while people type, and the meaning of names.

`session` reads the workspace as the editor has it, `text` counts columns as the editor does; `symbols`, `hovering`,
`completing`, `lenses` and `actions` answer its questions from one reading, and `server` speaks its protocol. Nothing
of the workspace is executed.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="editor",
    commands={"lsp": "llmdo.features.editor.cli"},
    extras={"lsp": "pygls"},
    pages=("editor.md",),
)
