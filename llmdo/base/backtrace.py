"""The places of failures in the workspace's own code: frames as data, for outcomes, events and the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from traceback import FrameSummary

MOST = 10  # frames that are kept, the innermost ones: recursion has a thousand of a kind
LONGEST_CHAIN = 20  # exceptions of which each caused the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A place in code that was being executed."""

    path: str
    """POSIX path relative to the workspace; of a file elsewhere, the whole."""
    line: int
    column: int
    """1-based, in code points; `end_column` is exclusive."""
    end_column: int
    function: str
    source: str
    """The line; empty if the file cannot be read."""


class CrashError(LlmdoError):
    """An unexpected error from code of the workspace. Its frames are innermost first."""

    def __init__(self, message: str, *, frames: Sequence[Frame] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.frames = tuple(frames)


def frames_of(error: BaseException) -> tuple[Frame, ...]:
    """The frames that `error` carries."""
    return error.frames if isinstance(error, CrashError) else ()


@dataclass(frozen=True, slots=True)
class Backtrace:
    """Finds the frames of failures."""

    root: Path
    """The folder of the code that counts as the workspace's own."""
    everything: bool = False
    """Whether frames of libraries and of llmdo are shown as well."""

    def crash(self, sentence: str, error: BaseException, *, hint: str | None = None) -> CrashError:
        """`error` with `sentence` as its message, and its place in the workspace."""
        own = self.of_workspace(error)
        place = f" ({own[0].path}:{own[0].line})" if own else ""
        frames = self._all(error) if self.everything else own
        return CrashError(sentence + place, frames=frames, hint=hint)

    def of_workspace(self, error: BaseException) -> list[Frame]:
        """The workspace's own frames of `error`, or of its causes if it has none."""
        for raised in _chain(error):
            frames = [
                _frame(frame, path) for frame in _extracted(raised) if (path := self._path(frame.filename))
            ]
            if frames:
                return frames[: -MOST - 1 : -1]
        return []

    def _all(self, error: BaseException) -> list[Frame]:
        return [
            _frame(frame, self._path(frame.filename) or frame.filename)
            for raised in _chain(error)
            for frame in reversed(_extracted(raised))
        ]

    def _path(self, file: str) -> str | None:
        """`file` relative to the workspace; None if it is not its own code, as in an environment inside it."""
        for root in (self.root, self.root.resolve()):
            if Path(file).is_relative_to(root):
                relative = Path(file).relative_to(root)
                is_own = not any(part.startswith(".") or part == "site-packages" for part in relative.parts)
                return relative.as_posix() if is_own else None
        return None


def _extracted(error: BaseException) -> list[FrameSummary]:
    from traceback import extract_tb  # slow to load, and nothing fails on the check path

    return extract_tb(error.__traceback__)


def _frame(frame: FrameSummary, path: str) -> Frame:
    from linecache import getline

    line = frame.lineno or 1
    source = getline(frame.filename, line).rstrip()
    start = _characters(source, frame.colno or 0)
    is_one_line = frame.end_lineno == line and frame.end_colno is not None
    end = _characters(source, frame.end_colno or 0) if is_one_line else len(source)
    return Frame(
        path=path,
        line=line,
        column=start + 1,
        end_column=max(start, end) + 1,
        function=frame.name,
        source=source,
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error`, its cause, and so on."""
    at: BaseException | None = error
    for _ in range(LONGEST_CHAIN):
        if at is None:
            return
        yield at
        inner = at.exceptions[0] if isinstance(at, BaseExceptionGroup) else None
        at = inner or at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _characters(text: str, count: int) -> int:
    """The number of characters in the first `count` bytes of `text`."""
    return len(text.encode("utf-8", "surrogatepass")[:count].decode("utf-8", "ignore"))
