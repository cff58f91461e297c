"""Questions that are asked at the terminal and elsewhere at once: the first answer counts, and only one that fits."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from llmdo.policy.authority import Capability
from llmdo.runtime import Answer, Question
from llmdo.runtime.approvals.approver import GoneError
from llmdo.runtime.approvals.two_channels import TwoChannelApprover

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


class Terminal:
    """A person at a terminal who answers when told to."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[Answer | Exception] = asyncio.Queue()
        self.asked: list[str] = []
        self.left = 0
        self.gone = asyncio.Event()

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.path)
        try:
            answer = await self.answers.get()
        except asyncio.CancelledError:
            self.left += 1
            raise
        if isinstance(answer, Exception):
            self.gone.set()
            raise answer
        return answer


def question(path: str = "main/act#1", **more: Any) -> Question:
    values: dict[str, Any] = {
        "worker": "main",
        "toolset": "tools",
        "tool": "act",
        "arguments": {"x": 1},
        "capabilities": (Capability("x.act"),),
        "reasons": (),
        "advice": (),
        "terminal_only": False,
        "key": f"key of {path}",
        "fault_of": lambda given: None if "x" in given else "x is missing",
    }
    return Question(path=path, **{**values, **more})


async def send(theirs: socket.socket, verb: str, path: str = "main/act#1", **more: Any) -> Any:
    """What comes back for an answer from elsewhere."""
    given = {"id": 7, "path": path, "digest": f"key of {path}", "verb": verb, "by": "ada", **more}

    def exchange() -> Any:
        theirs.sendall(json.dumps(given).encode() + b"\n")
        return json.loads(theirs.makefile("r").readline())

    return await asyncio.to_thread(exchange)


async def kept(_: Question) -> None:
    """Where a journal would keep the question."""


def test_the_first_answer_counts_wherever_it_comes_from(ends: Ends) -> None:
    async def work() -> None:
        messages: list[str] = []
        terminal = Terminal()
        beside = TwoChannelApprover(ends[0], terminal, messages.append)
        asking = asyncio.create_task(beside.ask(question()))
        assert await send(ends[1], "allow") == {"id": 7, "ok": True}
        answer = await asking
        assert (answer.allowed, answer.by, answer.at_terminal) == (True, "ada in the page", False)
        assert messages == ["\nmain/act#1: allowed by ada in the page"]
        again = asyncio.create_task(beside.ask(question()))
        terminal.answers.put_nowait(Answer(allowed=False, by="a person at the terminal", at_terminal=True))
        assert (await again).by == "a person at the terminal"
        assert (await send(ends[1], "allow"))["error"] == "stale"
        assert terminal.left == 1, "the terminal asks no more about what was answered elsewhere"

    asyncio.run(work())


def test_what_does_not_fit_is_refused_and_the_question_waits_on(ends: Ends) -> None:
    async def work() -> None:
        beside = TwoChannelApprover(ends[0], None, pytest.fail)
        asking = asyncio.create_task(beside.ask(question(terminal_only=True)))
        for verb in ("allow", "always"):
            assert (await send(ends[1], verb))["error"] == "unfit"
        assert (await send(ends[1], "allow", digest="another"))["error"] == "stale"
        assert (await send(ends[1], "allow", "main/other#1"))["error"] == "stale"
        assert "x is missing" in (await send(ends[1], "edit", instead={}))["message"]
        ends[1].sendall(b"nothing\n[]\n{}\n" + json.dumps({"id": 1, "verb": "yes"}).encode() + b"\n")
        assert not asking.done()
        assert (await send(ends[1], "edit", instead={"x": 2}))["ok"]
        answer = await asking
        assert (answer.allowed, answer.arguments) == (False, {"x": 2})

    asyncio.run(work())


@pytest.mark.parametrize(
    ("verb", "more", "expected"),
    [
        ("always", {}, {"allowed": True, "lasts": True}),
        ("refuse", {"reason": "no"}, {"allowed": False, "message": "no", "reason": "the answer was no: no"}),
        ("stop", {}, {"allowed": False, "stops": True}),
    ],
)
def test_each_answer_is_what_the_terminal_would_give(
    ends: Ends, verb: str, more: dict[str, Any], expected: dict[str, Any]
) -> None:
    async def work() -> None:
        asking = asyncio.create_task(TwoChannelApprover(ends[0], None, pytest.fail).ask(question()))
        assert (await send(ends[1], verb, **more))["ok"]
        answer = await asking
        assert {name: getattr(answer, name) for name in expected} == expected

    asyncio.run(work())


def test_a_question_is_kept_before_anybody_is_asked(ends: Ends) -> None:
    async def work() -> None:
        order: list[str] = []

        async def keep(asked: Question) -> None:
            order.append(asked.path)
            assert terminal.asked == []

        terminal = Terminal()
        terminal.answers.put_nowait(Answer(allowed=True, by="x", at_terminal=True))
        await TwoChannelApprover(ends[0], terminal, pytest.fail).ask(question(keep=keep))
        assert order == terminal.asked == ["main/act#1"]

    asyncio.run(work())


def test_where_nobody_is_left_who_could_answer_the_run_ends(ends: Ends) -> None:
    async def alone() -> None:
        asking = asyncio.create_task(TwoChannelApprover(ends[0], None, pytest.fail).ask(question(keep=kept)))
        await asyncio.sleep(0)
        ends[1].shutdown(socket.SHUT_RDWR)
        await asking

    with pytest.raises(GoneError):
        asyncio.run(alone())


def test_an_answer_counts_whose_sender_is_gone_and_disturbs_nothing(ends: Ends) -> None:
    async def work() -> None:
        faults: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        asking = asyncio.create_task(TwoChannelApprover(ends[0], None, pytest.fail).ask(question()))
        given = {"id": 1, "path": "main/act#1", "digest": "key of main/act#1", "verb": "allow", "by": "ada"}
        ends[1].sendall(json.dumps(given).encode() + b"\n")
        ends[1].close()
        assert (await asking).allowed
        await asyncio.sleep(0)
        assert faults == []

    asyncio.run(work())


@pytest.mark.parametrize("last", [b"", b"\xff\n"])
def test_a_page_that_dies_with_a_reply_unread_or_in_the_midst_of_a_line_is_gone(
    ends: Ends, last: bytes
) -> None:
    async def work() -> None:
        asking = asyncio.create_task(TwoChannelApprover(ends[0], None, pytest.fail).ask(question()))
        stale = {"id": 1, "path": "main/other#1", "digest": "", "verb": "allow", "by": "ada"}
        ends[1].sendall(json.dumps(stale).encode() + b"\n")
        await asyncio.to_thread(ends[1].recv, 1, socket.MSG_PEEK)  # it is there, and is left there
        ends[1].sendall(last)
        ends[1].close()
        with pytest.raises(GoneError):
            await asking

    asyncio.run(work())


def test_where_the_terminal_goes_and_then_the_page_the_run_ends(ends: Ends) -> None:
    async def work() -> None:
        terminal = Terminal()
        asking = asyncio.create_task(TwoChannelApprover(ends[0], terminal, pytest.fail).ask(question()))
        terminal.answers.put_nowait(GoneError("gone"))
        await terminal.gone.wait()
        ends[1].close()
        with pytest.raises(GoneError):
            await asking

    asyncio.run(work())


def test_one_of_the_two_may_go_and_the_other_still_answers(ends: Ends) -> None:
    async def without_page() -> None:
        terminal = Terminal()
        asking = asyncio.create_task(TwoChannelApprover(ends[0], terminal, pytest.fail).ask(question()))
        await asyncio.sleep(0)
        ends[1].shutdown(socket.SHUT_RDWR)
        terminal.answers.put_nowait(Answer(allowed=True, by="x", at_terminal=True))
        assert (await asking).allowed

    async def without_terminal() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            terminal = Terminal()
            terminal.answers.put_nowait(GoneError("gone"))
            asking = asyncio.create_task(TwoChannelApprover(ours, terminal, pytest.fail).ask(question()))
            await asyncio.sleep(0)
            assert (await send(theirs, "allow"))["ok"]
            assert (await asking).allowed

    both: tuple[Callable[[], Awaitable[None]], ...] = (without_page, without_terminal)
    for work in both:
        asyncio.run(work())  # type: ignore[arg-type]
