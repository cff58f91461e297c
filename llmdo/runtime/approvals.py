"""Who answers when a call needs approval. An approver that fails, or says anything but yes, has said no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.authority import Capability, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One call that waits for an answer, as it will be executed."""

    path: str
    """The call path of the call."""
    worker: str
    toolset: str
    tool: str
    arguments: Mapping[str, object]
    """The very arguments that a yes will execute."""
    capabilities: tuple[Capability, ...]
    """All that the call raises."""
    reasons: tuple[str, ...]
    """Why it is asked, a sentence each."""
    advice: tuple[str, ...]
    """What would answer it for good, a sentence each."""
    terminal_only: bool
    """Whether only a person at a terminal may say yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an approver said to one question."""

    allowed: bool
    by: str
    """Who answered, in words for the user."""
    reason: str = ""
    """Why not, in words for the user."""
    at_terminal: bool = False
    """Whether a person at a terminal gave it."""


class Approver(Protocol):
    """Answers the questions of one run, some of them asked at the same time."""

    async def ask(self, question: Question) -> Answer:
        """The answer to `question`."""
        ...


class ApproveAll:
    """Says yes to all questions but those for a person at a terminal. Blocked calls are never asked about."""

    async def ask(self, question: Question) -> Answer:
        """A yes, unless only a person may give it."""
        if question.terminal_only:
            reason = "approve-all does not answer this: run at a terminal, where you are asked"
            return Answer(allowed=False, by="approve-all", reason=reason)
        return Answer(allowed=True, by="approve-all")


class RejectAll:
    """Says no to every question, and what would allow the call: for where nobody can be asked."""

    async def ask(self, question: Question) -> Answer:
        """A no that names the rule or the flag which would allow the call."""
        otherwise = "run at a terminal" if question.terminal_only else "run with --approve-all"
        reason = "nobody can be asked here: " + ", or ".join((*question.advice, otherwise))
        return Answer(allowed=False, by="reject-all", reason=reason)


def advice_on(reason: Reason) -> str:
    """What to change so that the question which `reason` raised is never asked again."""
    rule = reason.rule
    if rule is None:
        return f'add `"{reason.capability}" = "allowed"` to [approvals.rules] in llmdo.toml'
    allowed = f'`"{rule.capability}" = "allowed"`'
    if rule.origin == "built in":
        return f"add {allowed} to [approvals.rules] in llmdo.toml"
    if rule.origin == "llmdo.toml":
        return f"make it {allowed} in [approvals.rules] in llmdo.toml"
    return f"remove `{rule}` from {rule.origin}"
