"""Questions to a person at a terminal: one at a time, and only a whole word is an answer."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TextIO

from pydantic_core import to_jsonable_python

from llmdo.base.diagnostic import excerpt
from llmdo.base.visible import visible
from llmdo.runtime.approvals.approver import BEFORE, Answer, RejectAll
from llmdo.runtime.approvals.drawing import MARGIN, NARROWEST, WIDE, LeftOut, describe, rows
from llmdo.runtime.approvals.screen import AskingScreen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.runtime.approvals.approver import Approver, Question

POLL_SECONDS = 0.1  # how long an editor may still be open after its question was cancelled


class NotEdited(Exception):  # noqa: N818  # it says what happened
    """Why there are no other arguments, in words for the person."""


def editor_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that start the person's editor; empty if the environment names none."""
    named = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        return tuple(shlex.split(named))
    except ValueError:
        return ()


def as_text(arguments: Mapping[str, object], *, in_ascii: bool) -> str:
    """The arguments for a person to edit; on a terminal in ASCII, in which nothing can hide.

    Raises:
        NotEdited: JSON cannot express them.
    """
    try:
        plain = to_jsonable_python(dict(arguments), by_alias=True, bytes_mode="base64")
    except ValueError as error:
        raise NotEdited("these arguments cannot be written as JSON") from error
    return json.dumps(plain, indent=2, ensure_ascii=in_ascii) + "\n"


def parse(text: str) -> dict[str, object]:
    """The arguments in `text`.

    Raises:
        NotEdited: It is not a JSON object, or gives a key twice.
    """
    try:
        arguments = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise NotEdited(f"this is not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise NotEdited("the arguments are a JSON object: {...}")
    return arguments


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


def edit_in(editor: tuple[str, ...], text: str, cancelled: threading.Event) -> str:
    """The text after the editor is closed.

    Raises:
        NotEdited: The editor could not be started or failed.
    """
    with TemporaryDirectory(prefix="llmdo-") as folder:  # for its owner only
        file = Path(folder) / "arguments.json"
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            child = subprocess.Popen([*editor, str(file)])
        except OSError as error:
            raise NotEdited(f"cannot start `{editor[0]}`: {error.strerror}") from error
        while (status := _status(child)) is None:
            if cancelled.is_set():
                child.terminate()
                child.wait()
                raise NotEdited("the question was cancelled")
        if status:
            raise NotEdited(f"`{editor[0]}` ended with status {status}")
        try:
            return file.read_text(encoding="utf-8", errors="surrogatepass")
        except (OSError, ValueError) as error:
            raise NotEdited("the edited file cannot be read") from error


def _status(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return None


PERSON = "a person at the terminal"
_WORDS = {
    "once": "allow this call",
    "always": "allow this very call until the run ends",
    "edit": "change the arguments, and be asked again",
    "show": "show all of it",
    "no": "refuse it; words after `no` tell the model why",
    "stop": "refuse it and end the run",
}


def approver_at(source: TextIO, screen: TextIO, environ: Mapping[str, str] | None = None) -> Approver:
    """A person if `source` and `screen` are terminals, else nobody."""
    if source.isatty() and screen.isatty():
        return AskOnTerminal(source, screen, environ)
    return RejectAll()


class AskOnTerminal:
    """Asks a person, one question at a time; input typed before a question is shown does not answer it."""

    def __init__(self, source: TextIO, screen: TextIO, environ: Mapping[str, str] | None = None) -> None:
        """`environ` permits colour, and names the editor for changed arguments; without one they are typed in."""
        self._screen = AskingScreen(source, screen, environ)
        self._editor = editor_of(environ or {})
        self._one_at_a_time = asyncio.Lock()
        self._allowed: set[str] = set()
        """The keys of calls allowed until the run ends."""

    async def ask(self, question: Question) -> Answer:
        """The person's answer, or an earlier one for this very call; the end of input is a no.

        Raises:
            GoneError: The terminal is gone.
        """
        async with self._one_at_a_time:
            if question.key in self._allowed:
                return Answer(allowed=True, by=f"{PERSON}{BEFORE}", at_terminal=True)
            cancelled = threading.Event()
            try:
                return await asyncio.to_thread(self._converse, question, cancelled)
            finally:
                cancelled.set()

    def _converse(self, question: Question, cancelled: threading.Event) -> Answer:
        is_whole = self._show(question, folded=True)
        while True:
            if self._screen.columns < NARROWEST:
                return _no(f"the terminal has fewer than {NARROWEST} columns, too few to show the call")
            line = self._screen.answer("allow? [no] ", cancelled.is_set)
            if not line.endswith("\n"):
                return _no("the input ended")
            word, _, rest = line.strip().partition(" ")
            match word, rest.strip():
                case "", _:
                    return _no("there was no answer")
                case "no", why:
                    return _no(f"the answer was no{f': {why}' if why else ''}", message=why)
                case "once" | "always", "" if word in _words(question):
                    if is_whole:
                        return self._allow(question, lasts=word == "always")
                    self._screen.say("parts of this call are left out: type show first\n")
                case "stop", "":
                    return Answer(allowed=False, by=PERSON, reason="the run was ended", stops=True)
                case "show", "":
                    is_whole = self._show(question, folded=False)
                case "edit", "" if question.fault_of is not None:
                    if answer := self._changed(question, cancelled):
                        return answer
                case _:
                    self._explain(question, line.strip())

    def _show(self, question: Question, *, folded: bool) -> bool:
        """Puts the question on the screen; returns whether all of it is there."""
        columns, paint = self._screen.columns, self._screen.paint
        drawn = list(describe(question, columns, folded=folded))
        self._screen.draw(drawn)
        hint = paint("dim", "   ? explains") if columns >= WIDE else ""
        self._screen.say(f"{paint('strong', ' '.join(_words(question)))}{hint}\n")
        return not any(isinstance(row, LeftOut) for row in drawn)

    def _explain(self, question: Question, typed: str) -> None:
        if typed != "?":
            self._screen.say(f"`{excerpt(typed)}` is not an answer; type one of these words:\n")
        self._screen.say("".join(f"  {word:<6}  {_WORDS[word]}\n" for word in _words(question)))

    def _allow(self, question: Question, *, lasts: bool) -> Answer:
        if lasts and question.key is not None:
            self._allowed.add(question.key)
        return Answer(allowed=True, by=PERSON, at_terminal=True, lasts=lasts)

    def _changed(self, question: Question, cancelled: threading.Event) -> Answer | None:
        """An answer with other arguments; None without any, after telling the person why."""
        try:
            arguments = self._edited(question, cancelled)
        except NotEdited as why:
            self._screen.say(f"{visible(str(why), prose=True)}\n")
            return None
        if question.fault_of and (fault := question.fault_of(arguments)):
            self._screen.say(f"the tool does not take this: {visible(fault, prose=True)}\n")
            return None
        return Answer(allowed=False, by=PERSON, arguments=arguments, at_terminal=True)

    def _edited(self, question: Question, cancelled: threading.Event) -> dict[str, object]:
        before = as_text(question.arguments, in_ascii=not self._editor)
        after = edit_in(self._editor, before, cancelled) if self._editor else self._typed(before, cancelled)
        if after.strip() in ("", before.strip()):
            raise NotEdited("nothing was changed")
        return parse(after)

    def _typed(self, before: str, cancelled: threading.Event) -> str:
        self._screen.say("the arguments, in JSON:\n")
        for line in before.splitlines():
            for row in rows(line, self._screen.columns - len(MARGIN)):
                self._screen.say(f"{MARGIN}{row}\n")
        self._screen.say("type them again, then an empty line:\n")
        typed = ""
        while (line := self._screen.line(cancelled.is_set)).strip():
            typed += line
        return typed


def _words(question: Question) -> Iterator[str]:
    for word in _WORDS:
        if (word != "always" or question.key is not None) and (
            word != "edit" or question.fault_of is not None
        ):
            yield word


def _no(reason: str, message: str = "") -> Answer:
    return Answer(allowed=False, by=PERSON, reason=reason, message=message, at_terminal=True)
