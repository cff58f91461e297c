"""A run with an open page, which shows it as it goes on and takes answers to its questions as well."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.cli.console import say

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from llmdo.cli.terminal import Terminal
    from llmdo.graph.resolved import Graph
    from llmdo.runtime import Approver, RunOutcome, Stop
    from llmdo.services.plan import Approving, RunPlan, Watch
    from llmdo.workspace.trust import Consent

LAST = 5  # seconds that the page may take to end


@dataclass(frozen=True, slots=True)
class PagedTerminal:
    """A `Host` of a run: a terminal, and the process of a page at the other end of a connection."""

    terminal: Terminal
    connection: socket.socket
    opens: bool = True

    @property
    def is_brief(self) -> bool:
        """As that of the terminal."""
        return self.terminal.is_brief

    @property
    def consent(self) -> Consent:
        """As that of the terminal."""
        return self.terminal.consent

    def tell(self, line: str) -> None:
        """Tells the person."""
        self.terminal.tell(line)

    def approving(self, graph: Graph) -> Approving:
        """Who answers: whoever does first, if a person is asked at all."""
        options = replace(self.terminal.approvals, beside=self._beside)
        return replace(self.terminal, approvals=options).approving(graph)

    def _beside(self, terminal: Approver | None) -> Approver:
        from llmdo.runtime.approvals.two_channels import TwoChannelApprover

        return TwoChannelApprover(self.connection, terminal, say)

    @contextmanager
    def watching(self, *, plan: RunPlan, approvals: str) -> Iterator[Watch]:
        """The terminal's display; the page gets the id of the run."""
        with suppress(OSError):  # the page is gone, and the run goes on
            self.connection.sendall(json.dumps({"run": plan.options.run}).encode() + b"\n")
        with self.terminal.watching(plan=plan, approvals=approvals) as watch:
            yield watch

    def wait_for(
        self, work: Coroutine[object, object, RunOutcome], abandon: Callable[[], None], stop: Stop
    ) -> RunOutcome:
        """The result of `work`; the first Ctrl-C stops it, the second ends the program."""
        return self.terminal.wait_for(work, abandon, stop)


@contextmanager
def paged(terminal: Terminal, root: Path, *, opens: bool = True) -> Iterator[PagedTerminal]:
    """The terminal with a page, which stays at a terminal until Ctrl-C, and elsewhere as long as the block runs.

    Raises:
        LlmdoError: The extra of the page is not installed.
    """
    _require_web()
    ours, theirs = socket.socketpair()
    command = [
        sys.executable,
        "-P",
        "-m",
        "llmdo",
        "page",
        "--project",
        str(root),
        "--beside",
        str(theirs.fileno()),
    ]
    with ours:
        process = subprocess.Popen(
            [*command, *([] if opens else ["--no-open"])],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),  # the link is for the person, not for whoever reads the answer
            stderr=sys.stderr.fileno(),
            start_new_session=True,  # Ctrl-C is for the run, which tells the page when it is over
        )
        theirs.close()
        try:
            yield PagedTerminal(terminal, ours, opens)
            _stay(process)
        finally:
            ours.shutdown(socket.SHUT_RDWR)
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST)
            process.kill()
            process.wait()


def _stay(process: subprocess.Popen[bytes]) -> None:
    """Returns when the person at the terminal ends it; at once if there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or process.poll() is not None:
        return
    say("the page is there until Ctrl-C; `llmdo page` shows it again")
    with suppress(KeyboardInterrupt):
        while process.poll() is None:
            time.sleep(0.2)


def _require_web() -> None:
    from importlib.util import find_spec

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise LlmdoError("the page needs the extra `web`", hint=installing("web"))
