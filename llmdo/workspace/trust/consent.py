"""The one function before any import or start of a workspace's code: `Consent.require`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, field
from llmdo.graph.inventory import Inventory
from llmdo.workspace import personal
from llmdo.workspace.root import Folders
from llmdo.workspace.trust.record import counted, digest_of, record_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llmdo.graph.inventory import InventoryItem
    from llmdo.graph.resolved import Graph

    Ask = Callable[["TrustQuestion"], "TrustAnswer"]

TrustAnswer = Literal["content", "folder", "no"]

VARIABLE = "LLMDO_TRUST"
REQUIRED = "required"
"""Of `LLMDO_TRUST`: nobody answers here, and nothing is executed without an answer."""
_GIVEN = {"": False, "0": False, "false": False, REQUIRED: False, "1": True, "true": True}


class UntrustedError(LlmdoError):
    """Nobody has answered for the code to be executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustQuestion:
    """The question whether a person answers for these items."""

    root: Path
    items: tuple[InventoryItem, ...]
    texts: Mapping[str, str]
    """The text of each item, by its key."""
    since: str | None = None
    """The time of the last yes here, if any."""
    before: Mapping[str, str] = field(default_factory=dict)
    """The texts shown then."""
    may_keep_folder: bool = True
    """Whether a yes may be for the folder, whatever becomes of it."""


class Consent:
    """Whether a person has answered for a workspace's code. One for each command: it asks once.

    Without a terminal it reports that nobody was asked and lets through, unless the person's `policy.toml` or the
    environment requires trust, or it is `strict`: then it refuses.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        tell: Callable[[str], None] | None = None,
        ask: Ask | None = None,
        strict: bool = False,
    ) -> None:
        """`environ` says in which folder answers are kept, `ask` puts a question to a person who is there."""
        self._environ = os.environ if environ is None else environ
        self._tell = tell
        self._ask = ask
        self._strict = strict
        self._granted: set[InventoryItem] = set()

    def require(self, graph: Graph, root: Path, code: Path | None = None, *, strict: bool = False) -> None:
        """Checks that all code of `graph` was answered for, or may be executed without.

        `code` is the folder of its Python, if that is not the workspace at `root`: an answer for the workspace's
        folder does not cover it. `strict` refuses everything without an answer.

        Raises:
            UntrustedError: It was not, and may not be executed.
        """
        items = Inventory.of(graph).executed
        if self._granted.issuperset(items):
            return
        if not (is_given(self._environ) or _is_kept(graph, root, items, self._environ, code)):
            self._settle(graph, root, items, code, strict=strict or self._strict)
        self._granted.update(items)

    def _settle(
        self, graph: Graph, root: Path, items: tuple[InventoryItem, ...], code: Path | None, *, strict: bool
    ) -> None:
        if self._ask is not None:
            self._put(self._ask, graph, root, items, code)
            return
        policy = personal.read(self._environ)
        requiring = [shared.name for shared in graph.policies if shared.requires_trust]
        requiring += [str(policy.path)] if policy.requires_trust else []
        is_strict = strict or self._environ.get(VARIABLE) == REQUIRED
        if is_strict or requiring:
            why = "" if is_strict else f", and `{requiring[0]}` requires that"
            raise refusal(items, why)
        if self._tell is not None:
            self._tell(f"runs {counted(items)} that nobody has answered for yet: `llmdo trust` shows them")

    def _put(
        self, ask: Ask, graph: Graph, root: Path, items: tuple[InventoryItem, ...], code: Path | None
    ) -> None:
        """Asks, and keeps the answer.

        Raises:
            UntrustedError: The answer is no.
        """
        question = question_of(graph, root, self._environ, code)
        answer = ask(question)
        if answer == "no":
            raise refusal(items)
        try:
            keep(graph, root, question, answer, self._environ)
        except LlmdoError as error:
            if self._tell is not None:
                self._tell(f"warning: {error.message}: {error.hint}")


def question_of(
    graph: Graph, root: Path, environ: Mapping[str, str], code: Path | None = None
) -> TrustQuestion:
    """The whole question for a person about `graph`.

    Raises:
        LlmdoError: A file changed since it was read.
    """
    items = Inventory.of(graph).executed
    since, before = record_of(environ).last(root) or (None, {})
    return TrustQuestion(
        root=root,
        items=items,
        texts=texts_of(graph, root, items, code),
        since=since,
        before=before,
        may_keep_folder=code is None,
    )


def keep(
    graph: Graph, root: Path, question: TrustQuestion, answer: TrustAnswer, environ: Mapping[str, str]
) -> None:
    """Records a yes to the items of `question`.

    Raises:
        LlmdoError: It cannot be kept.
    """
    record, content = record_of(environ), digest_of(question.items)
    if record.lies_in(Folders(root, graph.settings.root).all):
        raise LlmdoError(
            f"`{record.folder}` lies in the workspace, which could write answers itself, so none counts there",
            hint="the answer holds for this command",
        )
    if answer == "content" and content is None:
        raise LlmdoError(
            "not all of it can be known by its content, so no answer about that is kept",
            hint="the answer holds for this command",
        )
    if answer != "no":
        record.keep(answer, root, content, question.texts)


def is_trusted(graph: Graph, root: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Whether all code of `graph` was answered for; used by callers that execute nothing else, such as a page."""
    environ = os.environ if environ is None else environ
    return is_given(environ) or _is_kept(graph, root, Inventory.of(graph).executed, environ)


def is_given(environ: Mapping[str, str]) -> bool:
    """Whether the environment answers for everything, for the duration of the command.

    Raises:
        LlmdoError: It says neither yes nor no.
    """
    text = environ.get(VARIABLE, "")
    if text.lower() not in _GIVEN:
        raise LlmdoError(
            f"`{VARIABLE}={text}` is neither yes nor no", hint=f"`{VARIABLE}=1` is yes, `{REQUIRED}` refuses"
        )
    return _GIVEN[text.lower()]


def refusal(items: tuple[InventoryItem, ...], why: str = "") -> UntrustedError:
    """The error that nothing is executed."""
    return UntrustedError(
        f"nobody has answered for {counted(items)} of this workspace{why}: nothing of it was run",
        hint=f"`llmdo trust` shows and trusts them; `--trust` or `{VARIABLE}=1` does for one command",
    )


def _is_kept(
    graph: Graph,
    root: Path,
    items: tuple[InventoryItem, ...],
    environ: Mapping[str, str],
    code: Path | None = None,
) -> bool:
    """Whether there is nothing to answer for, or an answer that holds."""
    if not items:
        return True
    record = record_of(environ)
    if record.lies_in(Folders(root, graph.settings.root).all):
        return False
    content = digest_of(items)
    if content is not None and record.has_content(content):
        return True
    return code is None and record.has_folder(root)
