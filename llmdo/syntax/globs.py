"""The dialect of patterns over paths, one for all of llmdo: `*`, `?` and `[...]` within a name, `**` for any folders.

A `.gitignore` is in git's dialect instead, which `pathspec` reads. Scopes of capabilities and the path map know no
wildcard but a final `/**` and a final `/`; `policy` and `toolsets.pathmap` read them.
"""

from __future__ import annotations

import re
from functools import cached_property

from llmdo.base.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet

    State = frozenset[int]
    """The positions in a pattern that the names so far can have led to."""


_WILDCARD = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Whether `text` is a glob rather than the path of one file."""
    return _WILDCARD.search(text) is not None


def escape(text: str) -> str:
    """The glob that matches the brackets of `text` literally."""
    return text.replace("[", "[[]")


@dataclass(frozen=True)
class Glob:
    """A pattern over POSIX paths.

    `matches` is the quick way for globs with few `**`, as its time is a power of their number. A walk of folders goes
    from state to state instead, one name at a time: the time for a path is at most its length times the pattern's. In
    a walk a hidden name, one that begins with a dot, is matched only by a part that begins with a dot as well.
    """

    text: str

    @property
    def start(self) -> str:
        """The folder that contains every possible match; empty for the root."""
        *folders, _ = self.text.split("/")
        fixed = next((number for number, folder in enumerate(folders) if is_pattern(folder)), len(folders))
        return "/".join(folders[:fixed])

    @property
    def levels(self) -> int | None:
        """The number of names in a matching path; None for any number."""
        names = self.text.split("/")
        return None if "**" in names else len(names)

    @property
    def ending(self) -> str:
        """The common ending of all matching names."""
        last = self.text.rpartition("/")[2]
        return last[max(map(last.rfind, "*?]")) + 1 :]

    @property
    def core(self) -> str:
        """The common part of all matching paths: the longest of its folders that are no patterns."""
        *folders, _ = self.text.split("/")
        longest = max((name for name in folders if not is_pattern(name)), key=len, default="")
        return f"{longest}/" if longest else ""

    def matches(self, path: str) -> bool:
        """Whether it names `path`."""
        return self._expression.fullmatch(path) is not None

    def names(self, path: str) -> bool:
        """Whether a walk that starts at the root would name `path`: a hidden name needs a part with a dot."""
        if not self.matches(path):
            return False
        state = self.before
        for name in path.split("/") if "/." in f"/{path}" else ():
            state = self.step(state, name)
        return "/." not in f"/{path}" or self.is_match(state)

    @property
    def hidden(self) -> frozenset[str]:
        """Its parts that name hidden files or folders, which may be patterns."""
        return frozenset(name for name in self.text.split("/") if name.startswith("."))

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        *folders, last = self.text.split("/")
        above = "".join("(?:[^/]+/)*" if name == "**" else f"{_expression_of(name)}/" for name in folders)
        return re.compile(above + ("(?s:.+)" if last == "**" else _expression_of(last)))

    @cached_property
    def _names(self) -> tuple[re.Pattern[str] | None, ...]:
        """Its parts; None is `**`."""
        names = self.text.split("/")
        return tuple(None if name == "**" else re.compile(_expression_of(name)) for name in names)

    @cached_property
    def _is_dotted(self) -> tuple[bool, ...]:
        return tuple(name.startswith(".") for name in self.text.split("/"))

    @property
    def before(self) -> State:
        """The state of a walk before its first name."""
        return self._with_nothing_for_stars({0})

    def step(self, state: State, name: str) -> State:
        """The state after one more name; empty when no path that begins like this can match."""
        is_hidden = name.startswith(".")
        reached: set[int] = set()
        for position in state:
            if position == len(self._names) or (is_hidden and not self._is_dotted[position]):
                continue
            part = self._names[position]
            if part is None:
                reached.add(position)
                if position == len(self._names) - 1:
                    reached.add(position + 1)
            elif part.fullmatch(name):
                reached.add(position + 1)
        return self._with_nothing_for_stars(reached)

    def is_match(self, state: State) -> bool:
        """Whether the names so far are a whole match."""
        return len(self._names) in state

    def _with_nothing_for_stars(self, positions: AbstractSet[int]) -> State:
        """With the positions after every `**` that may be no folder; the last part must be a name."""
        closed = set(positions)
        for position in positions:
            after = position
            while after < len(self._names) - 1 and self._names[after] is None:
                after += 1
                closed.add(after)
        return frozenset(closed)


def _expression_of(name: str) -> str:
    """One folder or file name; each `*` matches as little as it can and never again, so that no name is slow."""
    first, *rest = re.split(r"\*+", name)
    out = [_fixed(first)]
    out.extend(f"(?>[^/]*?{_fixed(piece)})" for piece in rest[:-1])
    if rest:
        out.append("[^/]*" + _fixed(rest[-1]))
    return "".join(out)


def _fixed(text: str) -> str:
    out = []
    for piece in re.split(r"(\?|\[[^\]/]+\])", text):
        if piece == "?":
            out.append("[^/]")
        elif piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
            out.append(_class(piece[1:-1]))
        else:
            out.append(re.escape(piece))
    return "".join(out)


def _class(text: str) -> str:
    """A set of characters, never a slash; the text itself if it is no set, such as `[z-a]`."""
    is_inverted = text.startswith("!")
    wanted = re.sub(r"([\\\[&~|^])|-(?=-)|(?<=-)-", r"\\\g<0>", text.removeprefix("!"))
    expression = f"[{'^' * is_inverted}{wanted}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(f"[{text}]")
    return f"(?!/){expression}"


_LINE = re.compile(
    r"(?:#.*)?|(?P<top>/?)(?P<name>(?!\.+/?$)[A-Za-z0-9_.-]+)(?P<folder>/?)|\*(?P<ending>\.[A-Za-z0-9_.-]+)"
)


def plain(lines: Iterable[str]) -> Callable[[str], bool] | None:
    """Whether git would ignore a path, a folder with a trailing slash; None if only a library can tell."""
    named: dict[tuple[bool, bool], set[str]] = {
        (top, folder): set() for top in (False, True) for folder in (False, True)
    }
    endings = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        if match["ending"]:
            endings.append(match["ending"])
        elif match["name"]:
            named[bool(match["top"]), bool(match["folder"])].add(match["name"])
    anywhere, last = tuple(endings), frozenset(named[False, False])
    above = last | named[False, True]
    at_top, folders_at_top = frozenset(named[True, False]), frozenset(named[True, True])

    def ignored(path: str) -> bool:
        *folders, name = path.split("/")
        if name in last or (anywhere and name.endswith(anywhere)):
            return True
        if not folders:
            return name in at_top
        return (
            folders[0] in at_top
            or folders[0] in folders_at_top
            or any(folder in above or (anywhere and folder.endswith(anywhere)) for folder in folders)
        )

    return ignored
