"""What makes a call this very call: a key that no other call has."""

from __future__ import annotations

from hashlib import sha256
from itertools import chain, islice
from typing import TYPE_CHECKING

from llmdo import digest, lock
from llmdo.diagnostic import LlmdoError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.gate.call import Call
    from llmdo.toolsets.confinement import Root

MAX_WORDS = 1_000  # of a command: one with more is not told apart from others
MAX_FILE = 16 * 1024 * 1024  # bytes


def canonical(value: object) -> str:
    """`value` as a text that no other value has: 1, 1.0, true and "1" differ, the order of keys does not matter.

    Raises:
        TypeError: It is, or holds, something else than JSON does.
    """
    kind = type(value)
    if value is None or kind in (bool, int):
        return f"{kind.__name__}:{value};"
    if isinstance(value, float) and kind is float:
        return f"float:{value.hex()};"
    if isinstance(value, str) and kind is str:
        return f"str{len(value)}:{value};"
    if isinstance(value, list) and kind is list:
        return f"list{len(value)}[{''.join(map(canonical, value))}]"
    if isinstance(value, dict) and kind is dict and all(type(key) is str for key in value):
        items = "".join(canonical(key) + canonical(value[key]) for key in sorted(value))
        return f"dict{len(value)}{{{items}}}"
    # Never its text: an object and its text would have one key.
    raise TypeError(f"no key for {kind.__name__}")


def key_of(config: RuntimeConfig, frame: CallFrame, call: Call) -> str | None:
    """The key of a call under this run's lock; None where its arguments have no digest.

    Of a command the files of the workspace that it names belong to it: an interpreter runs what is in them.
    """
    if config.ledger.lock is None:
        config.ledger.lock = digest.of_text(lock.dump(config.graph))
    try:
        runs = any(one.name.startswith("proc.") for one in call.raised)
        files = _files(config.confined, call.arguments) if runs else {}
        parts = [
            *(config.run, config.ledger.lock, frame.name, call.toolset, {**call.config}, call.tool),
            *([str(one) for one in call.raised], call.arguments, files),
        ]
        return digest.of_text(canonical(parts))
    except (TypeError, RecursionError, LlmdoError):
        return None


def _files(root: Root, arguments: object) -> dict[str, object]:
    """The digests of the files of the workspace that some word in `arguments` names.

    Raises:
        LlmdoError: One of them cannot be read, or there are too many words.
    """
    words = set(islice(_words(arguments), MAX_WORDS + 1))
    if len(words) > MAX_WORDS:
        raise LlmdoError("too many words")
    found: dict[str, object] = {}
    for word in sorted(words):
        try:
            is_file = root.kind(word) == "file"
        except LlmdoError:
            continue  # no path of the workspace
        if is_file:
            found[word] = sha256(root.read(word, MAX_FILE)).hexdigest()
    return found


def _words(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
            yield from value.split()
        case dict():
            yield from chain.from_iterable(map(_words, value.values()))
        case list():
            yield from chain.from_iterable(map(_words, value))
