"""The quick part of some commands before other imports: reading options, and the remembered answer of `check`."""

from __future__ import annotations

import os

from llmdo.base import cache
from llmdo.base.nearest import manifest_in, nearest_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.syntax.unchanged import Meaning

REMEMBERED = ("text", "concise", "json")
"""The formats whose answer is only text."""

LONGEST_NUMBER = 18  # digits

_FLAGS = ("locked", "strict", "fix", "no-cache")
_VALUES = ("project", "format")
_LISTING = ("project", "format", "entry", "status", "where", "limit")


def options(
    words: Sequence[str], flags: Sequence[str] = _FLAGS, values: Sequence[str] = _VALUES
) -> dict[str, str | bool] | None:
    """The options in `words` by their names; None for anything unusual, which the command-line library answers."""
    named: dict[str, str | bool] = {}
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.removeprefix("--").partition("=")
        if name in flags and word == f"--{name}":
            named[name.replace("-", "_")] = True
        elif name in values and word.startswith("--"):
            text = value if equals else next(waiting, None)
            if text is None or name in named:
                return None  # one that is given twice means several workspaces, or is a mistake
            named[name] = text
        else:
            return None
    return named


def listing(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str] | None:
    """The options of a plain `llmdo runs`, its folder as `project`; None if it is no list, or anything is unusual."""
    named = options(words[1:] if words[:1] == ["list"] else words, (), _LISTING)
    if named is None:
        return None
    values = {name: str(value) for name, value in named.items()}
    root = _root(values.get("project") or environ.get("LLMDO_PROJECT"))
    limit = values.get("limit", "0")
    is_usual = (
        values.get("format", "text") in ("text", "json")
        and limit.isdecimal()
        and len(limit) <= LONGEST_NUMBER
    )
    return {**values, "project": root} if root is not None and is_usual else None


def is_locked(*, flag: bool, environ: Mapping[str, str]) -> bool:
    """Whether the lock has to be current: by the flag, or by default if `CI` or `LLMDO_LOCKED` is set."""
    return flag or any(
        environ.get(name, "").lower() not in ("", "0", "false") for name in ("CI", "LLMDO_LOCKED")
    )


def remembered(
    named: Mapping[str, str | bool], environ: Mapping[str, str], *, colour: bool = False
) -> tuple[int, str] | None:
    """The exit code and the output of the check that these options ask for, if they are known."""
    if named.get("fix") or named.get("no_cache") or cache.is_off(environ):
        return None
    root = _root(named.get("project") or environ.get("LLMDO_PROJECT"))
    if root is None:
        return None
    question = cache.CheckQuestion(
        locked=is_locked(flag=bool(named.get("locked")), environ=environ),
        strict=bool(named.get("strict")),
        form=str(named.get("format", "text")),
        colour=colour,
    )
    return cache.answer(root, question, environ, _meaning_now, _answer_now)


def _meaning_now(path: str, before: Meaning, aliases: tuple[str, ...]) -> Meaning | None:
    from llmdo.syntax import unchanged  # only where a file was edited

    return unchanged.meaning_now(path, before, aliases)


def _answer_now(
    root: str,
    question: cache.CheckQuestion,
    before: cache.Answer,
    edited: Mapping[str, tuple[Meaning, Meaning]],
) -> cache.Answer | None:
    from llmdo.syntax import unchanged

    if all(unchanged.says_the_same(*meanings) for meanings in edited.values()):
        return before
    from llmdo.cli import restating  # only where a text begins or ceases to differ from the lock

    return restating.answer_now(root, question, before, edited)


def _root(project: str | bool | None) -> str | None:
    """The folder that `console.root_folder` finds; None if that would report something."""
    try:
        if not project:
            return nearest_workspace(os.getcwd())  # noqa: PTH109
        folder = os.path.abspath(str(project))  # noqa: PTH100
    except (OSError, ValueError):
        return None
    return None if manifest_in(folder) is None else folder
