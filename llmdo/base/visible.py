"""Text that comes from a call, drawn for a person: no two texts look alike, and nothing in them can hide or pretend."""

from __future__ import annotations

import re
import unicodedata

MOST_BLANKS = 20  # in a row: no code is indented further, and no more than that can push text out of sight

_NAMED = {"\\": "\\\\", "\t": "\\t", "\r": "\\r"}
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that count as letters or symbols and draw nothing."""
_PROSE = frozenset("\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb\u00bf\u00a1\u00b0\u00a7\u20ac\u00a3")
"""Quotation marks and other signs of plain text, none of which passes for a part of a command or a path."""
_RUN = re.compile(f" {{{MOST_BLANKS + 1},}}")
_CONFUSING_LATIN = frozenset("\u0131\u0138\u0140\u0149\u017f")


def visible(text: str, *, prose: bool = False) -> str:
    r"""One line as it may be shown, every character that hides, moves or passes for another as `\u{..}`.

    No two texts look alike: a word that has ASCII letters or digits keeps no letter that could be mistaken for one,
    and unless this is `prose`, a text of a single word, such as a path or a host, nothing beyond ASCII.
    """
    words = text.split(" ")
    is_name = len(words) == 1 and not prose
    drawn = " ".join(_word(word, is_name=is_name) for word in words)
    return drawn[:-1] + "\\u{20}" if drawn.endswith(" ") else drawn


def _word(word: str, *, is_name: bool) -> str:
    if word.isascii() and word.isprintable():
        return word.replace("\\", "\\\\")
    is_mixed = any(character.isascii() and character.isalnum() for character in word)
    return "".join(
        _drawn(
            character,
            keep=not is_mixed or (not is_name and (character in _PROSE or _is_plain_latin(character))),
        )
        for character in word
    )


def _drawn(character: str, *, keep: bool) -> str:
    if " " <= character <= "~" and character != "\\":
        return character
    if named := _NAMED.get(character):
        return named
    if not keep or _hides(character) or _stands_for_ascii(character):
        return f"\\u{{{ord(character):x}}}"
    return character


def _hides(character: str) -> bool:
    """Whether it draws nothing, moves its neighbours, or is drawn over them."""
    joins = (
        "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"
    )  # parts of Korean syllables
    return unicodedata.category(character)[0] in "CMZ" or character in _BLANK or joins


def _stands_for_ascii(character: str) -> bool:
    """Whether it is another form of an ASCII letter or digit: full width, bold, in a circle."""
    return character.isalnum() and any(plain < "\x7f" for plain in unicodedata.normalize("NFKC", character))


def _is_plain_latin(character: str) -> bool:
    return "\u00c0" <= character <= "\u017f" and character.isalpha() and character not in _CONFUSING_LATIN


def scripts(drawn: str) -> tuple[str, ...]:
    """The scripts, other than plain Latin, of the letters that `visible` kept: whole words can look alike too."""
    beyond = {sign for sign in drawn if not sign.isascii() and sign.isalpha() and not _is_plain_latin(sign)}
    return tuple(sorted({unicodedata.name(sign, "unknown").split(" ")[0].capitalize() for sign in beyond}))


def without_runs(drawn: str) -> str:
    r"""A line that is made visible already, with its long runs of blanks as counts: `\{1,600 blanks}`."""
    return _RUN.sub(lambda run: f"\\{{{len(run[0]):,} blanks}}", drawn)
