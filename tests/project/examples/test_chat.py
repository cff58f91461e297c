"""The example `chat`: a conversation that knows what was said before, and asks before it writes."""

from __future__ import annotations

import shutil
from pathlib import Path

from llmdo.cli.approving import ApprovalOptions
from llmdo.cli.terminal import Terminal
from llmdo.features.chat.service import Chat, ChatRequest, open_chat
from llmdo.services.run import EntryRequest
from tests.support.examples import copied

NOTICE = " (rules, not a language model)"


def answer_to(chat: Chat, text: str, *, yes: bool = True) -> str:
    host = Terminal(approvals=ApprovalOptions(approve_all=yes, reject_all=not yes))
    outcome = chat.say(text, host).outcome
    assert outcome.error is None
    return outcome.output or ""


def test_a_conversation_knows_what_was_said_and_asks_before_it_writes(tmp_path: Path) -> None:
    root = copied("chat", tmp_path)
    shutil.rmtree(root / "notes", ignore_errors=True)  # what somebody had it write
    start = EntryRequest((), project=str(root), of_files=False, locked=True)
    chat = open_chat(ChatRequest(start=start), Terminal(approvals=ApprovalOptions(reject_all=True)))
    assert answer_to(chat, "Hello.") == f"That is message 1: Hello.{NOTICE}"
    assert answer_to(chat, "Count: one two three") == f"3 words{NOTICE}"
    assert "`write_file`" in answer_to(chat, "Note: buy milk", yes=False)
    assert not (root / "notes").exists()
    answer_to(chat, "Note: buy milk")
    assert (root / "notes/note.md").read_text() == "buy milk\n"
    assert answer_to(chat, "Bye.") == f"That is message 5: Bye. Before that you said: Note: buy milk{NOTICE}"
