"""The approvers of calls. One that fails, or says anything but yes, has said no."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from llmdo.base.diagnostic import LlmdoError, joined

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from llmdo.policy.authority import Capability, Reason


BEFORE = ", who allowed this very call before"
"""The words after the name of whoever gave a lasting answer, when it answers another question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One call that waits for an answer, as it will be executed."""

    path: str
    """The call path."""
    worker: str
    toolset: str
    tool: str
    arguments: Mapping[str, object]
    """The very arguments that a yes will execute."""
    capabilities: tuple[Capability, ...]
    asking: tuple[Capability, ...] = ()
    """Those that need the approval; with `by_tool` there may be other causes."""
    by_tool: bool = False
    """Whether it is asked whatever the rules say, for the tool's author or a person who changed the call."""
    reasons: tuple[str, ...]
    """A sentence each."""
    advice: tuple[str, ...]
    """Changes that would answer it for good, a sentence each."""
    terminal_only: bool
    """Whether only a person at a terminal may say yes."""
    is_flow: bool = False
    """Whether a flow rule asks: the run's options precede all reading, so they answer nothing."""
    labels: Mapping[str, str] | None = None
    """What its caller had read, in terms of flow rules, each with the place at which it came in; None without these."""
    key: str | None = None
    """The same for this very call alone, as long as the run lasts; None without such a key."""
    fault_of: Callable[[Mapping[str, object]], str | None] | None = None
    """Tells the fault of other arguments; None if they cannot be changed."""
    keep: Callable[[Question], Awaitable[None]] | None = None
    """Puts it into the journal before it is answered, so that others see it wait; None without a journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An approver's answer to one question."""

    allowed: bool
    by: str
    """Who answered, in words for the user."""
    reason: str = ""
    """Why not, in words for the user."""
    message: str = ""
    """Why not, in words for the model."""
    at_terminal: bool = False
    lasts: bool = False
    """Whether a yes holds for this very call each time it is made in its run."""
    arguments: Mapping[str, object] | None = None
    """Other arguments: the call with them is decided on like any other."""
    is_standing: bool = False
    """Whether an option of the run gave it unasked: the same question would get it again."""
    stops: bool = False
    """Whether the run ends here."""
    waits: bool = False
    """Whether nobody has answered yet: the run stops until somebody has."""


class GoneError(LlmdoError):
    """The person asked is gone, which is no answer: the run ends, and asks again when continued."""


class Approver(Protocol):
    """Answers the questions of one run, some of them asked at the same time."""

    async def ask(self, question: Question) -> Answer:
        """The answer to `question`.

        Raises:
            GoneError: Nobody is left to give one.
        """
        ...


class ApproveAll:
    """Says yes to all questions but those for a person at a terminal. Blocked calls are never asked about."""

    async def ask(self, question: Question) -> Answer:
        """A yes, unless only a person may give it."""
        if question.terminal_only:
            reason = "`--approve-all` cannot approve this; run again at a terminal"
            return Answer(allowed=False, by="approve-all", reason=reason, is_standing=True)
        return Answer(allowed=True, by="approve-all", is_standing=True)


@dataclass(frozen=True, slots=True)
class ApproveSome:
    """Says yes if `capabilities` cover all that needs the approval; `otherwise` answers the rest."""

    capabilities: tuple[Capability, ...]
    otherwise: Approver

    async def ask(self, question: Question) -> Answer:
        """A yes naming the flags that gave it, or the answer of `otherwise`."""
        asking = question.asking
        is_open = question.terminal_only or question.by_tool or question.is_flow
        if is_open or not asking or not all(map(self._grants, asking)):
            return await self.otherwise.ask(question)
        granting = [granted for granted in self.capabilities if any(map(granted.grants, asking))]
        return Answer(allowed=True, by=" ".join(f"--approve {granted}" for granted in granting))

    def _grants(self, need: Capability) -> bool:
        return any(granted.grants(need) for granted in self.capabilities)


@dataclass(frozen=True, slots=True)
class RefuseSome:
    """Says no if anything that needs the approval may lie within `capabilities`; `otherwise` answers the rest."""

    capabilities: tuple[Capability, ...]
    by: str
    """Who answers so, in words for the user."""
    otherwise: Approver

    async def ask(self, question: Question) -> Answer:
        """A no, or the answer of `otherwise`. For a tool's own question, all raised capabilities count."""
        asking = question.asking or question.capabilities
        refused = [each for each in self.capabilities if any(map(each.touches, asking))]
        if not refused:
            return await self.otherwise.ask(question)
        return Answer(allowed=False, by=self.by, reason=f"`{refused[0]}` is refused here", is_standing=True)


def approves_all(approver: Approver | None) -> bool:
    """Whether `ApproveAll` answers, at once or as a fallback."""
    while isinstance(approver, ApproveSome | RefuseSome):
        approver = approver.otherwise
    return isinstance(approver, ApproveAll)


class AskLater:
    """Answers nothing: the question waits in the run's journal."""

    async def ask(self, question: Question) -> Answer:  # noqa: ARG002  # the protocol's signature
        """No answer yet."""
        return Answer(allowed=False, by="nobody", reason="nobody has answered yet", waits=True)


class RejectAll:
    """Says no to every question, and how to allow the call: for runs in which nobody can be asked."""

    async def ask(self, question: Question) -> Answer:
        """A no naming the rule or flag that would allow the call."""
        advice = (
            (_flag(question), *question.advice) if question.is_flow else (*question.advice, _flag(question))
        )
        reason = "nobody can be asked here: " + ", or ".join(advice)
        return Answer(allowed=False, by="reject-all", reason=reason, is_standing=True)


def _flag(question: Question) -> str:
    """The option of a run that answers this question with yes."""
    if question.terminal_only:
        return "run at a terminal"
    if question.is_flow:
        return "run at a terminal or with --approvals later"
    if question.by_tool or not question.asking:
        return "run with --approve-all"
    return "run with " + joined(
        [f"--approve {shlex.quote(str(capability))}" for capability in question.asking], " "
    )


def advice_on(reason: Reason) -> str:
    """The change after which the question of `reason` is never asked again."""
    rule = reason.rule
    if reason.flow is not None:
        return "let a worker make the call that has not read it"
    line = f"`{rule_line(reason.capability if rule is None else rule.capability)}`"
    if rule is None or rule.at is None:  # built in, or of an extension
        return f"add {line} to [approvals.rules] in llmdo.toml"
    if rule.origin == "llmdo.toml":
        return f"make it {line} in [approvals.rules] in llmdo.toml"
    return f"remove `{rule}` from {rule.origin}"


def rule_line(capability: Capability) -> str:
    """The manifest line that allows `capability`, in ASCII."""
    return f'{json.dumps(str(capability))} = "allowed"'
