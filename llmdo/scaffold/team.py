"""The template `team`, filled with the answers of a person: the road of `new`, and of `init --template team`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.graph.models import near_provider, problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT = "script:models.yaml"
NOTHING = "nothing"

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:/[A-Za-z0-9][A-Za-z0-9_-]*)*")
_FLOWS = """
[sources]
"fs.read:{strangers}/**" = "data.untrusted"  # strangers write it, so whatever it says may be an attack

[flows]
"data.untrusted -> fs.write" = "needs_approval"  # once any of it was read, a person is asked about each write

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAnswers:
    """What a team is to be."""

    purpose: str = "Draft answers to what comes in."
    reads: str = "inbox"
    writes: str = "drafts"
    strangers: str = "inbox"
    """The folder in which strangers write: `reads`, one below it, or `nothing`."""
    model: str = SCRIPT

    def values(self) -> Mapping[str, str]:
        """The text of each blank of the template.

        Raises:
            LlmdoError: An answer cannot be used.
        """
        purpose = purpose_of(self.purpose)
        reads, writes = folder_of(self.reads), folder_of(self.writes)
        strangers = strangers_of(self.strangers, reads)
        is_script = model_of(self.model) == SCRIPT
        asks = strangers == NOTHING
        return {
            "purpose": purpose,
            "purpose-quoted": json.dumps(purpose, ensure_ascii=False),
            "reads": reads,
            "writes": writes,
            "model": json.dumps(self.model),
            "model-note": "  # written by hand: needs no network and no key\n"
            '# model = "openai:gpt-5-mini"  # a real one: install llmdo-workspace[openai] and set OPENAI_API_KEY'
            if is_script
            else f"  # without a key: llmdo run --model {SCRIPT}",
            "write": "needs_approval" if asks else "allowed",
            "write-note": "  # a person is asked" if asks else "  # but see below",
            "flows": "" if asks else _FLOWS.format(strangers=strangers).removesuffix("\n"),
        }


def purpose_of(text: str) -> str:
    """What a team is for, in one line.

    Raises:
        LlmdoError: It says nothing, or cannot be read.
    """
    line = " ".join(text.split())
    if not line or not line.isprintable():
        raise LlmdoError("what the team is for is one line of text", hint="such as: Draft answers to mail.")
    return line


def folder_of(text: str) -> str:
    """A folder of the workspace.

    Raises:
        LlmdoError: It is none.
    """
    folder = text.strip().removesuffix("/")
    if _FOLDER.fullmatch(folder) is None:
        raise LlmdoError(
            f"`{text}` is not the name of a folder in the workspace", hint="such as `inbox`, or `mail/in`"
        )
    return folder


def strangers_of(text: str, reads: str) -> str:
    """The folder that strangers write to, below what the team reads, or `nothing`.

    Raises:
        LlmdoError: It is neither.
    """
    folder = folder_of(text)
    if folder != NOTHING and folder != reads and not folder.startswith(f"{reads}/"):
        raise LlmdoError(
            f"the team reads `{reads}`, and `{folder}` is not in it", hint=f"`{reads}`, or `{NOTHING}`"
        )
    return folder


def model_of(text: str) -> str:
    """A model.

    Raises:
        LlmdoError: It is none.
    """
    if problem := problem_of(text.strip()):
        raise LlmdoError(problem, hint=near_provider(text) or f"`{SCRIPT}` needs no key")
    return text.strip()
