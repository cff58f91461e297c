"""The messages to the user: findings, and the error that ends a command."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import category

from llmdo.base.codes import CODES
from llmdo.base.values import also_in_json, dataclass, field, in_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmdo.base.codes import Severity
    from llmdo.base.source import Location


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that helps to understand a finding."""

    at: Location = field(metadata=in_json(flat=True))
    message: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement of a stretch of text that fixes a finding."""

    at: Location = field(metadata=in_json(flat=True))
    """The stretch: it has a span."""
    before: str
    """The present text."""
    text: str
    """The new text."""
    safe: bool
    """Whether `check --fix` may apply it unasked: it makes no decision milder and no ceiling wider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding: the fault, its exact place, and the fix."""

    code: str
    at: Location = field(metadata=in_json(flat=True))
    message: str
    """One sentence that stands alone: no capital, no full stop, names in backticks."""
    hint: str | None = None
    related: tuple[Related, ...] = ()
    severity: Severity = field(default="error", metadata=in_json(after="code"))
    subject: str | None = field(default=None, metadata=in_json(part=None))
    """The entry that it is about, if any."""
    capability: str | None = field(default=None, metadata=in_json(part=None))
    """The capability that it is about, if any."""
    gated: bool = field(default=False, metadata=in_json(part=None))
    """Whether a person is asked before the danger can happen."""
    fix: Fix | None = field(default=None, compare=False)
    """The one edit that would fix it, if that is certain."""
    own_name: str = field(default="", metadata=in_json(part=None))
    """The code in words, of an extension's check."""

    @property
    @also_in_json(after="code")
    def name(self) -> str:
        """The code in words, such as `unknown-key`."""
        return self.own_name or CODES[self.code][0]

    @property
    def places(self) -> tuple[Location, ...]:
        """Its place, and the places that help to understand it."""
        return (self.at, *(other.at for other in self.related))

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Sort key: path, line, column, code, message; a finding about a whole file comes first."""
        span = self.at.span
        return (self.at.path, span.line if span else 0, span.column if span else 0, self.code, self.message)


def finding(
    code: str,
    at: Location,
    message: str,
    *,
    hint: str | None = None,
    related: Iterable[Related] = (),
    subject: str | None = None,
    capability: str | None = None,
    gated: bool = False,
    fix: Fix | None = None,
) -> Diagnostic:
    """A finding with the severity that its code has."""
    return Diagnostic(
        code=code,
        at=at,
        message=message,
        hint=hint,
        related=tuple(related),
        severity=CODES[code][1],
        subject=subject,
        capability=capability,
        gated=gated,
        fix=fix,
    )


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known name nearest to `name`; None if none is near enough."""
    match = nearest(name, known)
    return f"did you mean `{match}`?" if match else None


LISTED = 10  # names in a hint


def near_or_all(name: str, known: Iterable[str], of_what: str) -> str:
    """A hint with the known name nearest to `name`, or with all of them if none is near enough."""
    names = sorted(known)
    if hint := did_you_mean(name, names):
        return hint
    if not names:
        return f"there is no {of_what} at all"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(f'`{each}`' for each in names[:LISTED])}{more}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, ties by alphabet; None if none is near enough."""
    return next(iter(_near(name, frozenset(known))), None)


MANY = 300  # names to compare with: each takes about 20 microseconds

CLEARLY = 0.15  # of likeness: `fs.wrte` is `fs.write` and not `fs.read`, and `ab` is neither `abc` nor `abd`


def only_match(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, if no other one comes near it: certain enough for a fix."""
    matches = _near(name, frozenset(known))
    if len(matches) == 2:
        from difflib import SequenceMatcher

        best, second = (SequenceMatcher(None, match, name).ratio() for match in matches)
        return matches[0] if best - second >= CLEARLY else None
    return matches[0] if matches else None


@lru_cache(maxsize=8)  # a finding asks twice: for its hint and for its fix
def _near(name: str, known: frozenset[str]) -> list[str]:
    """The two known names most like `name`, ties by alphabet; none if too many are like it to mean one."""
    from difflib import get_close_matches  # slow to load, and a clean file never needs it

    if len(known) > MANY:
        first, last, lengths = name[:1], name[-1:], range(len(name) // 2, len(name) * 2)
        known = frozenset(
            name for name in known if len(name) in lengths and (name[:1] == first or name[-1:] == last)
        )
    return get_close_matches(name, sorted(known), n=2, cutoff=0.7) if len(known) <= MANY else []


EXCERPT = 40  # characters: enough to know a value again, and a message stays one line

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK_LETTERS = frozenset("\u3164\u115f\u1160\uffa0\u2800")  # letters by category that draw nothing


MOST_JOINED = 5  # sentences of one message


def shown(text: str) -> str:
    r"""`text` with every control, bidi and invisible character spelled out, such as `\u{202e}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{{{ord(character):x}}}"
        if character != " " and (category(character) in _UNSEEN or character in _BLANK_LETTERS)
        else character
        for character in text
    )


_JOINERS = frozenset(
    "\u200c\u200d"
)  # of letters and of emoji: without them some languages are written wrongly


def unsteering(text: str, *, in_json: bool = False) -> str:
    r"""Text of any length as a terminal may get it: all that steers it, or its order, spelled out as `\u{1b}`.

    Line breaks, tabs and letters of any script stay. With `in_json` the spelled-out characters are still JSON.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        character if not _steers(character) else _json_escape(character) if in_json else shown(character)
        for character in text
    )


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _steers(character: str) -> bool:
    return (
        category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and character not in "\n\t"
        and character not in _JOINERS
    )


def excerpt(text: str, most: int = EXCERPT) -> str:
    """`text` as a message may quote it: shortened, invisible characters spelled out."""
    return shown(text if len(text) <= most else text[: most - 1] + "…")


def excerpt_of_end(text: str, most: int = EXCERPT) -> str:
    """`text` as a message may quote it, shortened at its front, where its end is its own: of a path between folders."""
    if len(text) <= most:
        return shown(text)
    kept = text[1 - most :]
    below = kept.partition("/")[2]
    return shown(f"…/{below}" if below else f"…{kept}")


def joined(sentences: Sequence[str], by: str = "; ") -> str:
    """The first few of `sentences`, and the number of others: a call may have a hundred reasons, one for each path."""
    more = len(sentences) - MOST_JOINED
    return by.join(sentences[:MOST_JOINED]) + (f"{by}and {more:,} more" if more > 0 else "")


class LlmdoError(Exception):
    """The command cannot continue. Carries its own hint and, if known, the place."""

    def __init__(
        self, message: str, *, hint: str | None = None, at: Location | None = None, exit_code: int = 2
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at
        self.exit_code = exit_code


def error_keys(error: LlmdoError | None) -> dict[str, str | None] | None:
    """An error as plain data."""
    return {"message": error.message, "hint": error.hint} if error else None


def place(at: Location) -> str:
    """`path:line:column`, or the path alone for a whole file."""
    return f"{shown(at.path)}:{at.span.line}:{at.span.column}" if at.span else shown(at.path)
