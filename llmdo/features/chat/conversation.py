"""A chat at a terminal: a line, its turn, and the next line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import outcome
from llmdo.cli.console import FINE, say, say_error
from llmdo.features.chat.lines import lines_at_terminal
from llmdo.features.chat.service import open_chat
from llmdo.features.chat.slash import COMMANDS, obey

if TYPE_CHECKING:
    from llmdo.cli.terminal import Terminal
    from llmdo.features.chat.lines import Lines
    from llmdo.features.chat.service import Chat, ChatRequest


def hold(request: ChatRequest, host: Terminal) -> int:
    """Holds a conversation with the person at this terminal until they end it.

    Raises:
        LlmdoError: It cannot begin.
    """
    lines_at_terminal((), ())  # first: without a terminal nothing is begun
    chat = open_chat(request, host)
    if chat.resumed is not None:
        outcome.report(chat.resumed, as_json=False)
    lines = lines_at_terminal((turn.input for turn in chat.turns), (f"/{name}" for name in COMMANDS))
    begun = f", {len(chat.turns)} turns so far" if chat.turns else ""
    say(f"chat with {chat.entry.name}{begun}; /help says what there is, Ctrl-D ends it")
    while (line := _line(lines)) is not None:
        if line:
            _answer(line, chat, host)
    if chat.turns:
        say(f"`llmdo chat {chat.entry.name} --continue {chat.turns[-1].end.run}` goes on")
    return FINE


def _line(lines: Lines) -> str | None:
    """The next line; None at the end of the chat."""
    while True:
        try:
            return lines.next().strip()
        except KeyboardInterrupt:
            say("Ctrl-D ends the chat")
        except EOFError:
            return None


def _answer(line: str, chat: Chat, host: Terminal) -> None:
    """Obeys a line, or has it answered; its failure ends no chat."""
    try:
        if line.startswith("/"):
            obey(line, chat)
        else:
            outcome.report(chat.say(line, host), as_json=False, is_brief=True)
    except LlmdoError as error:
        say_error(error)
    except KeyboardInterrupt:
        say("stopped")
