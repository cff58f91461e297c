"""A chat at a terminal: a line, its turn, and the next line; lines with a slash are commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.extras import installing
from llmdo.cli import outcome
from llmdo.cli.console import FINE, put, say, say_error, screen
from llmdo.features.chat.service import open_chat
from llmdo.render.amounts import counted, money, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from llmdo.cli.terminal import Terminal
    from llmdo.features.chat.service import Chat, ChatRequest
    from llmdo.runtime.recording.history import Turn

MARK = "> "
"""The prompt before a line."""


class Lines(Protocol):
    """A source of lines."""

    def next(self) -> str:
        """The next line.

        Raises:
            EOFError: There is none any more.
            KeyboardInterrupt: Ctrl-C was pressed.
        """


def lines_at_terminal(before: Iterable[str], words: Iterable[str]) -> Lines:
    """The lines of the person at this terminal; `before` are earlier ones, `words` the tab completions.

    Raises:
        LlmdoError: There is no terminal, or the library is not installed.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise LlmdoError(
            "a chat needs a terminal", hint="`llmdo run ENTRY --continue last INPUT` goes on from a program"
        )
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory
    except ImportError as error:
        raise LlmdoError(
            "`llmdo chat` needs a library that is not installed", hint=installing("chat")
        ) from error
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(list(before)),
        completer=WordCompleter(list(words), sentence=True),
        complete_while_typing=False,
    )
    return _Typed(lambda: session.prompt(MARK))


class _Typed:
    """Lines that are asked for one by one."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask

    def next(self) -> str:
        """The next line."""
        return self._ask()


def obey(line: str, chat: Chat) -> None:
    """Executes the command in `line`.

    Raises:
        LlmdoError: There is no such command, or it cannot be done.
    """
    name, _, argument = line[1:].partition(" ")
    if name not in COMMANDS:
        raise LlmdoError(
            f"there is no `/{name}`", hint=did_you_mean(name, COMMANDS) or "`/help` lists what there is"
        )
    COMMANDS[name][0](chat, argument.strip())


def _help(chat: Chat, _: str) -> None:
    del chat
    for name, (_run, text) in COMMANDS.items():
        say(f"/{name:8}{text}")
    say("Ctrl-C stops a turn, Ctrl-D ends the chat; its runs stay, and `llmdo chat --continue last` goes on")


def _reach(chat: Chat, _: str) -> None:
    from llmdo.render import reached
    from llmdo.services import reach as service

    request = service.ReachRequest(entry=chat.entry.name, project=str(chat.prepared.root))
    put(reached.rendered(service.reach(request, say), "text", screen()), end="", is_drawn=True)


def _tools(chat: Chat, _: str) -> None:
    for offer in chat.tools():
        capabilities = ", ".join(map(str, offer.capabilities)) or "nothing"
        put(f"{offer.worker} > {offer.toolset} > {offer.tool}: {capabilities}")


def _cost(chat: Chat, _: str) -> None:
    seen = {turn.end.run for turn in chat.turns}
    requests, sent, received, cost = 0, 0, 0, None
    for run in chat.costs():
        spent = [counted(run.requests, "request"), *tokens(run.input_tokens, run.output_tokens)]
        spent += [money(run.cost_usd)] if run.cost_usd is not None else []
        put(f"{run.run}: {', '.join(spent)}" + ("" if run.run in seen else ", which the model does not see"))
        requests += run.requests
        sent, received = sent + (run.input_tokens or 0), received + (run.output_tokens or 0)
        cost = (cost or 0) + run.cost_usd if run.cost_usd is not None else cost
    total = [counted(requests, "request"), *(tokens(sent, received) if sent + received else ())]
    put(f"together: {', '.join([*total, *([money(cost)] if cost else [])])}")


def _undo(chat: Chat, _: str) -> None:
    turn = chat.undo()
    if turn is None:
        raise LlmdoError("there is no turn to take back")
    say(f"the model does not see this any more: {' '.join(turn.input.split())[:60]}")
    say(f"what it did stays done: `llmdo runs show {turn.end.run}` tells what that was")


def _save(chat: Chat, argument: str) -> None:
    if not argument:
        raise LlmdoError("`/save FILE` names a file")
    from llmdo.runtime.telemetry.redaction import Redaction

    text = Redaction.of(os.environ).text(_transcript(chat.entry.name, chat.turns))
    try:
        with Path(argument).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise LlmdoError(f"cannot write `{argument}`: {error.strerror}") from error
    say(f"wrote {argument}")


def _model(chat: Chat, argument: str) -> None:
    if argument:
        chat.use_model(argument)
    for worker, model in chat.model_names().items():
        put(f"{worker}: {model or 'none'}")


def _transcript(entry: str, turns: Iterable[Turn]) -> str:
    """The turns of a conversation with `entry` as Markdown: the person's words and the answers."""
    lines = [f"# Conversation with {entry}", ""]
    for turn in turns:
        lines += [*(f"> {line}".rstrip() for line in turn.input.splitlines()), ""]
        lines += [turn.output if turn.output is not None else "*(no answer)*", ""]
    return "\n".join(lines)


COMMANDS: Mapping[str, tuple[Callable[[Chat, str], None], str]] = {
    "help": (_help, "this list"),
    "reach": (_reach, "what the entry can reach, and behind which gate"),
    "tools": (_tools, "every tool that a turn could call"),
    "cost": (_cost, "what each turn took, and all of them"),
    "undo": (_undo, "the model does not see the last turn any more; what it did stays done"),
    "save": (_save, "FILE: write what was said, as Markdown"),
    "model": (_model, "[WORKER=]MODEL: ask another model from now on; alone, say which are asked"),
}
"""The function and the description of each command by its name."""


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
            outcome.report(chat.say(line, host), as_json=False)
    except LlmdoError as error:
        say_error(error)
    except KeyboardInterrupt:
        say("stopped")
