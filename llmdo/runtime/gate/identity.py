"""The identity of a call: a key that no other call has."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import BaseModel

from llmdo.base import digest
from llmdo.base.diagnostic import LlmdoError
from llmdo.runtime.approvals.approver import ApproveAll
from llmdo.toolsets.paths import PathRefused
from llmdo.workspace import lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call
    from llmdo.toolsets.confinement import Root


_EXACT = (date, datetime, time, timedelta, Decimal, UUID)
"""Types whose representation tells each value from all others."""


class Unidentified(Exception):  # noqa: N818  # not an error: the gate refuses the call
    """A command cannot be told from another, so that an answer for one could count for the other."""


def canonical(value: object) -> str:
    """`value` as a text that no other value has: 1, 1.0, true and "1" differ, the order of keys does not matter.

    Takes JSON and validated arguments: models, dates, decimals and the like.

    Raises:
        TypeError: It is, or holds, something else.
    """
    kind = type(value)  # not `isinstance`: this looks at every value of every call that is asked about
    if kind is str:
        return f"str{len(value)}:{value};"  # type: ignore[arg-type]
    if kind is list or kind is tuple:
        return f"{kind.__name__}{len(value)}[{''.join(map(canonical, value))}]"  # type: ignore[arg-type, call-overload]
    if kind is dict:
        items = sorted([canonical(key) + canonical(item) for key, item in value.items()])  # type: ignore[attr-defined]
        return f"dict{len(items)}{{{''.join(items)}}}"
    if value is None or kind is bool or kind is int:
        return f"{kind.__name__}:{value};"
    if kind is float:
        return f"float:{value.hex()};"  # type: ignore[attr-defined]
    return f"{kind.__module__}.{kind.__qualname__}({_content(value)})"


def _content(value: object) -> str:
    """A text that no other value of its type has; never the text of an unknown type, which its author may control.

    Raises:
        TypeError: No such text is known.
    """
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, BaseModel):
        return canonical({**value.__dict__, **(value.__pydantic_extra__ or {})})
    if is_dataclass(value) and not isinstance(value, type):
        return canonical({each.name: getattr(value, each.name) for each in fields(value)})
    if isinstance(value, set | frozenset):
        return "".join(sorted(map(canonical, value)))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, tuple):
        return canonical(list(value))
    if type(value) in _EXACT or type(value).__module__ == "pydantic.networks":
        zone = type(getattr(value, "tzinfo", None)).__module__
        if zone in ("builtins", "datetime", "zoneinfo", "pydantic_core._pydantic_core"):
            return repr(value)
    raise TypeError(f"no key for {type(value).__name__}")


def key_of(config: RuntimeConfig, call: Call, identity: str | None) -> str | None:
    """The key of a call with a unique `identity`; without one, None: no answer is kept."""
    if identity is None:
        return None
    return config.log.key(call.path, identity)


async def identity_of(config: RuntimeConfig, frame: CallFrame, call: Call) -> str | None:
    """A text that no other call has under this run's lock; None if its arguments have none.

    Also None if nobody uses it: `ApproveAll` answers by capabilities alone, and there is no journal. A command's
    includes the workspace files that it names, as an interpreter runs their content.

    Raises:
        Unidentified: It is a command, and its arguments or the files that they name cannot be told from others.
    """
    runs = any(raised.name.startswith("proc.") for raised in call.raised)
    # Its own class alone: one that was made from it may answer, or change, whatever it likes.
    if not runs and not config.log.keeps and type(config.approver) is ApproveAll:
        return None
    if config.ledger.lock is None:
        config.ledger.lock = digest.of_text(lock.dump(config.graph))
    try:
        names = _named(config.confined, call.arguments) if runs else ()
        # In a thread, for a file may be large; without one, calls of one response are decided on in their order.
        files = await asyncio.to_thread(_digests, config.confined, names) if names else {}
        parts = [
            *(config.run, config.ledger.lock, frame.name, call.toolset, {**call.config}, call.tool),
            *([str(raised) for raised in call.raised], call.arguments, files),
            *([sorted(map(str, call.labels))] if call.labels else ()),  # an answer holds for these alone
        ]
        return canonical(parts)
    except (TypeError, RecursionError) as error:
        if runs:
            raise Unidentified("its arguments have no digest") from error
        return None


def _named(root: Root, arguments: object) -> list[str]:
    """The words in `arguments` that name a path of the workspace which exists and is no folder."""
    names = []
    for word in sorted(set(_words(arguments))):
        with suppress(LlmdoError):  # no path of the workspace
            if root.kind(word) in ("file", "other"):
                names.append(word)
    return names


def _digests(root: Root, names: Iterable[str]) -> dict[str, str]:
    """The digests of these files.

    Raises:
        Unidentified: One of them cannot be read.
    """
    digests: dict[str, str] = {}
    for name in names:
        try:
            digests[name] = root.digest(name)
        except PathRefused as refused:
            raise Unidentified(f"`{name}`, which it names, {refused.reason}") from refused
    return digests


def _words(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
            for word in value.split():
                yield word
                yield word.partition("=")[2]
        case dict():
            yield from chain.from_iterable(map(_words, value.values()))
        case list():
            yield from chain.from_iterable(map(_words, value))
