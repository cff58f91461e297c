"""The checks as values: a function with its code and its severity, from a project to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from llmdo.base.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.base.codes import Severity
    from llmdo.base.diagnostic import Diagnostic

Subject = TypeVar("Subject")

MAX_OF_A_KIND = 1_000  # findings with one code: a project could be made to have millions


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """A check of a project, ours or a foreign one."""

    code: str
    severity: Severity
    function: Callable[[Subject], Iterator[Diagnostic]]
    """Called as the code is in words; its docstring is what `llmdo explain` prints."""
    acceptable: bool
    """Whether a `[[check.accept]]` can silence its findings."""

    def __call__(self, project: Subject) -> Iterator[Diagnostic]:
        """Its findings about `project`."""
        return self.function(project)

    @property
    def name(self) -> str:
        """The code in words, such as `unknown-key`."""
        return self.function.__name__.replace("_", "-")

    @property
    def documentation(self) -> str:
        """What it says about itself: a sentence, why it matters, how it is fixed."""
        from inspect import cleandoc  # slow to load, and only needed here

        return cleandoc(self.function.__doc__ or "")


def reports(
    code: str, severity: Severity, *, acceptable: bool = False
) -> Callable[[Callable[[Subject], Iterator[Diagnostic]]], Check[Subject]]:
    """The mark of a function as the check with this code: the next number of its group, and none that ever was one.

    1xx are about files and their schema, 2xx names, 3xx the graph, 4xx the lock and 5xx authority; in each, those from
    50 on are about projects of other tools.
    """
    return lambda function: Check(code, severity, function, acceptable)


def checks_among(*namespaces: Mapping[str, object]) -> tuple[Check[Any], ...]:
    """The checks in the namespaces of modules, each once, in the order of their codes."""
    checks = {id(each): each for names in namespaces for each in names.values() if isinstance(each, Check)}
    return tuple(sorted(checks.values(), key=lambda check: check.code))


def few(findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings of one check, as many as anybody reads; the last one says that there are more."""
    for number, each in enumerate(findings):
        if number == MAX_OF_A_KIND:
            message = f"only the first {MAX_OF_A_KIND:,} findings of this kind are shown"
            yield replace(each, message=message, hint=None, related=(), fix=None)
            return
        yield each
