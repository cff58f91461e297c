"""The language server of workspaces: the findings of `check` while people type, and the meaning of names.

`server` reads the workspaces as the editor has them, and `sending` counts columns as the editor does; `symbols`,
`hovering`, `completing` and `requests` answer its questions from one reading. Nothing of the workspace is executed.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="editor",
    commands={"lsp": "llmdo.features.editor.cli"},
    extras={"lsp": "pygls"},
    pages=("editor.md",),
)
