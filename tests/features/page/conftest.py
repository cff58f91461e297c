"""What tests of the page share: a real Chromium, one a process, and servers that end with their test.

A test with the mark `browser` runs in the thread that the browser is driven from: Playwright keeps an event loop there,
beside which nothing else in that thread could have one. Its fixture `page` is a new window without any memory, and fails
the test where a script failed, the policy was violated, or a request left the machine.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from llmdo.features.page import server
from llmdo.features.page.subject import Subject

CHROMIUM = "/usr/bin/chromium"
EXAMPLES = Path(__file__).parents[3] / "examples"
PATIENCE = 30_000  # ms that a browser may take to show something on a busy machine

expect.set_options(timeout=PATIENCE)


@dataclass
class Browsing:
    """A browser and the only thread that may speak to it; started when the first test needs it."""

    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=1))
    playwright: Playwright | None = None
    browser: Browser | None = None

    def run(self, function: Callable[[], Any]) -> Any:
        return self.thread.submit(function).result()

    def window(self, **options: Any) -> Page:
        if self.browser is None:
            self.playwright = sync_playwright().start()
            self.browser = self.playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
        page = self.browser.new_context(**options).new_page()
        page.set_default_timeout(PATIENCE)
        return page

    def end(self) -> None:
        if self.browser is not None:
            self.run(self.browser.close)
        if self.playwright is not None:
            self.run(self.playwright.stop)
        self.thread.shutdown()


@pytest.fixture(scope="session")
def browsing() -> Iterator[Browsing]:
    if not Path(CHROMIUM).exists():
        (pytest.fail if os.environ.get("LLMDO_TEST_CHROMIUM") else pytest.skip)(f"there is no {CHROMIUM}")
    browsing = Browsing()
    yield browsing
    browsing.end()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test with the mark `browser` in the browser's thread."""
    if not pyfuncitem.get_closest_marker("browser"):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    pyfuncitem.funcargs["browsing"].run(lambda: pyfuncitem.obj(**arguments))
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that drives a browser has it as a fixture, whether it names it or not."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("browser"):
            item.fixturenames.append("browsing")


@pytest.fixture
def provoked() -> list[str]:
    """Parts of the lines that a test provokes in the console, which says them when it likes: also after the test."""
    return []


@pytest.fixture
def page(
    browsing: Browsing, provoked: list[str], request: pytest.FixtureRequest, serve: object, tmp_path: Path
) -> Iterator[Page]:
    """A new window; with parameters of Playwright's `new_context` where the test gives some by `window(...)`.

    It is closed before the server ends and the workspace is removed, as it asks for both.
    """
    del serve, tmp_path
    mark = request.node.get_closest_marker("window")
    options = {"viewport": {"width": 1280, "height": 800}, **(mark.kwargs if mark else {})}
    problems: list[str] = []

    def opened() -> Page:
        page = browsing.window(**options)
        page.on("pageerror", lambda error: problems.append(f"script: {error}"))
        page.on("console", lambda line: line.type == "error" and problems.append(f"console: {line.text}"))
        page.on("request", lambda sent: is_elsewhere(sent.url) and problems.append(f"request: {sent.url}"))
        return page

    page = browsing.run(opened)
    yield page
    browsing.run(page.context.close)
    assert [line for line in problems if not any(part in line for part in provoked)] == []


def is_elsewhere(address: str) -> bool:
    return not address.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "file:", "blob:"))


@dataclass(frozen=True)
class Served:
    """A page that is being served."""

    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def at(self, hash_: str = "") -> str:
        """The address of a part of the page, for a window that knows the token already."""
        return f"{self.address}{hash_}"

    def open(self, page: Page, hash_: str = "#/") -> None:
        """Opens the page as a person does who was given the link, and goes to a part of it."""
        page.goto(f"{self.address}#token={self.token}")
        ready(page)
        go(page, hash_)


def go(page: Page, hash_: str) -> None:
    """Goes to a part of the page that is open, and waits until it is shown."""
    if page.evaluate("location.hash") != hash_:
        page.evaluate("hash => { delete document.body.dataset.ready; location.hash = hash }", hash_)
        ready(page)


def ready(page: Page) -> None:
    """Waits until a view is shown, or what hinders it."""
    page.wait_for_selector("body[data-ready]")


@contextmanager
def serving(subject: Subject, **options: Any) -> Iterator[Served]:
    """The page in a thread of this process, for as long as this."""
    request = server.ServerRequest(subject=subject, **options)
    ports: list[int] = []
    is_ready = threading.Event()
    loop = asyncio.new_event_loop()

    def ready(port: int) -> None:
        ports.append(port)
        is_ready.set()

    task = loop.create_task(server.serve(request, ready))

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert is_ready.wait(10)
        yield Served(ports[0], request.token)
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        subject.desk.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Serves the workspace in a folder, or a `Subject`, until the test ends."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(what: Path | Subject, **options: Any) -> Served:
            subject = what if isinstance(what, Subject) else Subject(project=str(what))
            return stack.enter_context(serving(subject, **options))

        yield start


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an example."""

    def copied(name: str) -> Path:
        ignored = shutil.ignore_patterns(".llmdo", "__pycache__")
        return Path(shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=ignored))

    return copied
