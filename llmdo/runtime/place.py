"""The place of a call in code: the same whenever that code runs again, whatever ends first.

Parallel tasks come to their calls in a random order, so it numbers nothing. A task is numbered by its creation among
those that the same task created from the same function; a call, in its task, among those of the same worker.
`second#screen-3.1` is the first call of `second` in the third task of `screen`.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.naming import first_run
from llmdo.runtime.recording.replay_mode import DivergenceError
from llmdo.toolsets.call_key import SCOPE, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterator
    from contextlib import AbstractContextManager
    from contextvars import ContextVar

    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.labels import Context

Result = TypeVar("Result")

UNORDERED = "#~"
"""Starts the number of a call that goes by its input."""


@dataclass(slots=True, eq=False, kw_only=True)
class Scope:
    """Code of an entry or tool in one task, with one call after the other."""

    frame: CallFrame
    """The frame of the tool's worker, or of the entry."""
    path: str
    """The call path of that code."""
    toolset: str | None = None
    """Owns the code; None for an entry's function."""
    execution: tuple[str, int] | None = None
    """The run and the number of the tool's execution; None for an entry's function."""
    context: Context | None = None
    """The labels that the code has read; None if nothing is labelled."""
    is_probe: bool = False
    """Whether it only checks if that call took effect."""
    prefix: str = ""
    """Starts its calls' numbers: the tasks between the code's own one and this one."""
    task: asyncio.Task[object] | None = None
    """None while the loop makes it, which may run its first steps at once."""
    _calls: Counter[str] = field(default_factory=Counter)
    _tasks: Counter[str] = field(default_factory=Counter)
    _keys: set[tuple[str, str]] = field(default_factory=set)
    """Names that callers gave to calls, of the code as a whole."""

    @property
    def key(self) -> str | None:
        """The key of the tool's call for services; None for an entry's function."""
        if self.execution is None:
            return None
        run, number = self.execution
        return key_of(first_run(run), self.path, number)

    @property
    def is_here(self) -> bool:
        """Whether this very task runs, no thread or task that only inherited its context."""
        return self.task is None or self.task is _current_task()

    def next_call(self, worker: str) -> str:
        """The number of the next call of `worker`."""
        self._calls[worker] += 1
        return f"{self.prefix}{self._calls[worker]}"

    def named_call(self, worker: str, key: str) -> str:
        """The same for a call that its caller names.

        Raises:
            LlmdoError: The name is empty, or taken by another call of the worker.
        """
        if not key or (worker, key) in self._keys:
            raise LlmdoError(
                f"`key={key!r}` does not name one call of `{worker}`", hint="give each call its own"
            )
        self._keys.add((worker, key))
        return f"={quote(key, safe=' ')}"

    def of_task(self, function: str) -> Scope:
        """The scope of the next task that this one creates from `function`."""
        self._tasks[function] += 1
        prefix = f"{self.prefix}{function}-{self._tasks[function]}."
        return Scope(
            frame=self.frame,
            path=self.path,
            toolset=self.toolset,
            execution=self.execution,
            context=self.context,
            is_probe=self.is_probe,
            prefix=prefix,
            _keys=self._keys,
        )


@dataclass(slots=True, eq=False)
class UnorderedCalls:
    """Calls of a run that no order of its code tells apart, as from threads: they go by their input."""

    _counted: Counter[str] = field(default_factory=Counter)
    _recorded: set[str] = field(default_factory=set)
    """Made by an earlier process as well."""

    def path(self, unnumbered: str, digest: str, is_recorded: Callable[[str], bool]) -> str:
        """The call path of the next call whose input has `digest`.

        Raises:
            DivergenceError: There are several, one of them recorded: nobody can know which.
        """
        equal = f"{unnumbered}{UNORDERED}{digest.rpartition(':')[2][:16]}"
        self._counted[equal] += 1
        number = self._counted[equal]
        if number == 1 and is_recorded(f"{equal}.1"):
            self._recorded.add(equal)
        if equal in self._recorded and (number > 1 or is_recorded(f"{equal}.2")):
            raise DivergenceError(
                f"{unnumbered}: several calls with the same input are made where only time puts them in order",
                hint="name each by `call_agent(..., key=...)`, so that a run which goes on can tell them apart",
            )
        return f"{equal}.{number}"


_SCOPE = cast("ContextVar[Scope | None]", SCOPE)


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The place of a call."""

    above: str
    """The call path of the calling code."""
    number: str | None
    """Among calls of the same worker there; None if only its input tells it apart."""


def place_of(frame: CallFrame, above: str | None, worker: str, key: str | None = None) -> CallPlace:
    """The place of the call of `worker` made now by code of `frame`.

    `above` is that code's call path, if known.

    Raises:
        LlmdoError: `key` does not name the call, or a probe makes it.
    """
    require_no_probe()
    scope = _SCOPE.get()
    is_ours = scope is not None and scope.frame is frame and above in (None, scope.path)
    if scope is None or not is_ours:
        scope = Scope(frame=frame, path=above or frame.path) if key is not None else None
    above = scope.path if scope else above or frame.path
    if scope and key is not None:
        return CallPlace(above, scope.named_call(worker, key))
    return CallPlace(above, scope.next_call(worker) if scope and scope.is_here else None)


def require_no_probe() -> None:
    """Requires that no probe runs now: its calls would count among its tool's.

    Raises:
        LlmdoError: One does.
    """
    scope = _SCOPE.get()
    if scope is not None and scope.is_probe:
        raise LlmdoError("a probe calls no worker and no tool, and loads no file")


def calling(
    frame: CallFrame,
    path: str,
    toolset: str | None = None,
    *,
    execution: tuple[str, int] | None = None,
    context: Context | None = None,
    again: bool = False,
    is_probe: bool = False,
) -> AbstractContextManager[None]:
    """A block of code of `frame` that may call workers and tools; `again` if it runs once more at the same `path`.

    It is code of `toolset`, for that execution (run and number), or an entry's function. A probe calls nothing.
    """
    scope = Scope(
        frame=frame,
        path=path,
        toolset=toolset,
        execution=execution,
        context=context,
        is_probe=is_probe,
        prefix="again." if again else "",
        task=asyncio.current_task(),
    )
    return _Within(scope)


def code_at(frame: CallFrame) -> Scope | None:
    """The code of `frame` that runs now or began the running code; None if its owner is unknown."""
    scope = _SCOPE.get()
    return scope if scope is not None and scope.frame is frame else None


def running_context() -> Context | None:
    """The labels of the workspace code that runs now; None without such code, or if nothing is labelled."""
    scope = _SCOPE.get()
    return None if scope is None else scope.context


def is_in_code() -> bool:
    """Whether the running code is of the workspace, or was started by it."""
    return _SCOPE.get() is not None


def code_path() -> str | None:
    """The call path of the workspace code that runs now, or that began the running code; None without such code."""
    scope = _SCOPE.get()
    return None if scope is None else scope.path


def not_calling() -> AbstractContextManager[None]:
    """A block of code that is not the workspace's: tasks that it creates do not count."""
    return _Within(None)


class _Within:
    """A block within a scope. No generator: each call of a worker enters several."""

    __slots__ = ("_scope", "_token")

    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    def __enter__(self) -> None:
        self._token = _SCOPE.set(self._scope)

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):  # a coroutine that its loop gave up is closed in another context
            _SCOPE.reset(self._token)


class NumberedTasks:
    """A task factory that gives tasks of code their scopes; the loop's own factory makes them."""

    def __init__(self, host: Callable[..., Any] | None) -> None:
        self.host = host
        """The loop's earlier factory; None for asyncio's."""
        self.runs = 0
        """The runs that need it."""

    def __call__(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Result] | Generator[Any, None, Result],
        **options: Any,
    ) -> asyncio.Future[Result]:
        """The task that runs `coro`."""
        scope = _SCOPE.get()
        inner = None
        # A context that is given belongs to its giver: what runs in it is not told from what else does.
        if scope is not None and scope.is_here and options.get("context") is None:
            inner = scope.of_task(_function_of(coro))
            options["context"] = copy_context()
            options["context"].run(_SCOPE.set, inner)
        if self.host is None:
            task: asyncio.Task[Result] = asyncio.Task(coro, loop=loop, **options)
        else:
            task = self.host(loop, coro, **options)
        if inner is not None:
            inner.task = task
        return task


@contextmanager
def numbered_tasks() -> Iterator[None]:
    """A block in which the running loop numbers the tasks of code."""
    loop = asyncio.get_running_loop()
    factory = loop.get_task_factory()
    if not isinstance(factory, NumberedTasks):
        factory = NumberedTasks(factory)
        loop.set_task_factory(factory)
    factory.runs += 1
    try:
        yield
    finally:
        factory.runs -= 1
        if not factory.runs and loop.get_task_factory() is factory:
            loop.set_task_factory(factory.host)


def _function_of(coro: object) -> str:
    return re.sub(r"\W", "", getattr(coro, "__name__", "")) or "task"


def _current_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # a thread without a loop
        return None
