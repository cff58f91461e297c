"""`explain`: what a finding means, by its code or its name, or the explanations that hold some words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.codes import CODES
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.checks import documentation, explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmdo.extensions.spec import Extension


def explained(words: str, extensions: Callable[[], Sequence[Extension]]) -> str:
    """The explanation of the code or name `words`, else of the only finding whose explanation holds them all.

    Where several do, a line for each; without words, for all. `extensions` are loaded only for
    what is no check of ours.

    Raises:
        LlmdoError: No explanation holds the words.
    """
    if words and (text := explanation(words) or explanation(words, extensions())):
        return text
    codes = sorted(_beginning(words.upper()) if _is_code(words) else _holding(words.lower().split()))
    if not codes:
        near = None if _is_code(words) else did_you_mean(words.lower(), [name for name, _ in CODES.values()])
        everything = (
            "`llmdo explain` lists all, and `llmdo explain WORDS` those whose explanation holds the words"
        )
        raise LlmdoError(
            f"no check is called `{words}`, and no explanation holds it", hint=near or everything
        )
    if len(codes) == 1:
        return explanation(codes[0][1]) or ""
    lines = [f"{code} {CODES[code][0]}: {_first_sentence(code)}\n" for _, code in codes]
    return "".join([*lines, f"\n`llmdo explain {codes[0][1]}` says how it is fixed.\n"])


def _is_code(words: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z]+[0-9]+", words))


def _beginning(start: str) -> Iterator[tuple[int, str]]:
    """The codes that begin so."""
    yield from ((0, code) for code in CODES if code.startswith(start))


def _holding(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The codes whose explanation holds all words; first where the name does, then the first sentence."""
    for code, (name, _) in CODES.items():
        places = name.replace("-", " "), _first_sentence(code).lower(), documentation(code).lower()
        ranks = [
            next((rank for rank, text in enumerate(places) if _stem(word) in text), None) for word in words
        ]
        if None not in ranks:
            yield max((rank for rank in ranks if rank is not None), default=0), code


def _stem(word: str) -> str:
    """A word without the ending of a plural."""
    return word.removesuffix("s") if len(word) > 3 else word


def _first_sentence(code: str) -> str:
    return documentation(code).partition("\n\n")[0].replace("\n", " ")
