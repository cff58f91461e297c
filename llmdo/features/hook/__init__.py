"""`llmdo hook`: the program that a client calls before each tool call, and that decides as llmdo does.

`quick` answers a call, mostly from memory, and denies whatever goes wrong. `clients` has a module for each client: the
form of its events, the meaning of its tools' arguments, its words for an answer, and its settings. `packed` are the
tables of a project in the person's cache, `compiling` makes them of the project and its lock. `access` narrows the
table of a tool to one call, `session` is the state of one session, `journal` the chained record of its decisions.
`install` writes the settings of a client, `doctor` starts it and sees its hooks fire. `usage` gathers the rights that
recorded sessions used, by `transcripts`, which has a module for each client as well. `kept` are the sessions of a
project whose journals are there, `view` shows them in the page.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from llmdo.extensions.spec import Extension

    EXTENSION: Extension


def __getattr__(name: str) -> object:
    """`EXTENSION`, for who asks: an answer to a call does without it, and without `typing`."""
    if name != "EXTENSION":
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from llmdo.extensions.spec import Extension

    return Extension(
        name="hook",
        commands={"hook": "llmdo.features.hook.cli"},
        sessions="llmdo.features.hook.kept",
        views=("llmdo.features.hook.view",),
        pages=("hook.md",),
    )
