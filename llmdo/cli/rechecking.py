"""`llmdo check --watch`: the findings again whenever a file changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.cli import check
from llmdo.cli.console import FINE, put, say, say_error
from llmdo.services.root import root_folder
from llmdo.workspace.source_files import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmdo.cli.check import CheckOptions

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_FORMATS = ("text", "concise")


def watch(options: CheckOptions) -> int:
    """Prints the findings now and after each change, until Ctrl-C.

    Raises:
        LlmdoError: There is no workspace, the library is missing, or the options do not fit.
    """
    if options.format not in _FORMATS:
        raise LlmdoError(f"`--watch` prints for people: {' or '.join(_FORMATS)}, not {options.format}")
    if options.fix:
        raise LlmdoError("`--fix` edits files once, so it cannot be combined with `--watch`")
    root = root_folder(options.project)
    changes, memory = _changes(), Memory()
    try:
        for _ in changes(root):
            _show(options, memory)
    except KeyboardInterrupt:
        pass
    return FINE


def _show(options: CheckOptions, memory: Memory) -> None:
    """Prints the findings on a cleared terminal, if there is one."""
    if sys.stdout.isatty():
        put(_CLEAR, end="", is_drawn=True)
    try:
        check.run(options, memory)
    except LlmdoError as error:
        say_error(error)  # such as a manifest that is being replaced: the next change tells
    sys.stdout.flush()
    say("waiting for a change; Ctrl-C ends it")


def _changes() -> Callable[[Path], Iterator[None]]:
    try:
        from llmdo.services.changes import changes
    except ModuleNotFoundError as error:
        hint = installing("lsp")
        raise LlmdoError("`--watch` needs a library that is not installed", hint=hint) from error
    return changes
