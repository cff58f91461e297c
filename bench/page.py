"""Times the page in a real Chromium: its first view, and the drawing of a thousand workers beside that of sixty.

python -m bench.page [--rounds 7]

Ratios alone mean something: both sides of each are measured in turns, in the same process and the same browser.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Browser, Page, sync_playwright

from llmdo.features.page.server import ServerRequest, serve
from llmdo.features.page.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = "/usr/bin/chromium"
CALLS = 3  # of each worker, so that a thousand of them are seven levels
DRAWING = """key => {
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "o"}));
  const start = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", {key}));
  document.querySelector(".area svg").getBoundingClientRect();  // so that it has been laid out as well
  return performance.now() - start;
}"""


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        small, large = (written(Path(folder) / str(number), number) for number in (60, 1_000))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        with served(small) as (port, token):
            views, bare = first_views(browser, port, token, rounds)
        with served(small) as few, served(large) as many:
            folded, full = drawings(opened(browser, *many), opened(browser, *few), rounds)
        browser.close()
    print(
        f"first view of 60 workers, ready: {views:.0f} ms; the same bytes without a browser: {bare:.0f} ms;"
        f" {views / bare:.1f} x"
    )
    print(
        f"1,000 workers folded: {folded:.1f} ms to draw; 60 in full: {full:.1f} ms; {folded / full:.2f} x (<= 1.0)"
    )


def written(root: Path, number: int) -> Path:
    """A workspace in which one entry reaches that many workers."""
    (root / "workers").mkdir(parents=True)
    (root / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "many"\nworkers = ["workers/*.worker"]\nmax-depth = 12\n',
        encoding="utf-8",
    )
    for place in range(number):
        below = range(CALLS * place + 1, min(CALLS * place + 1 + CALLS, number))
        uses = "".join(f"  worker_{each}: {{}}\n" for each in below)
        text = (
            f"---\nname: worker_{place}\ndescription: Does its part.\nentry: {str(place == 0).lower()}\n"
            f'toolsets:\n  filesystem: {{ write: ["out/{place}/**"] }}\n{uses}---\nDo your part.\n'
        )
        (root / "workers" / f"worker_{place}.worker").write_text(text, encoding="utf-8")
    return root


@contextmanager
def served(root: Path) -> Iterator[tuple[int, str]]:
    """The port and the token of a page about `root`."""
    request = ServerRequest(subject=Subject(project=str(root)))
    ports: list[int] = []
    is_ready = threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(serve(request, lambda port: (ports.append(port), is_ready.set())[1]))

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=run)
    thread.start()
    is_ready.wait()
    yield ports[0], request.token
    loop.call_soon_threadsafe(task.cancel)
    thread.join()
    loop.close()


def first_views(browser: Browser, port: int, token: str, rounds: int) -> tuple[float, float]:
    """Milliseconds until the graph of an entry is drawn, and until a bare client has the same bytes."""
    views, bare = [], []
    for _ in range(rounds):
        page = browser.new_context().new_page()
        start = time.perf_counter()
        page.goto(f"http://127.0.0.1:{port}/#token={token}")
        page.wait_for_selector("body[data-ready]")
        page.evaluate("location.hash = '#/reach/worker_0'")
        page.wait_for_selector(".area svg")
        views.append(time.perf_counter() - start)
        page.context.close()
        start = time.perf_counter()
        for path in ("/", "/api/project", "/api/reach?entry=worker_0"):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            assert connection.getresponse().read()
            connection.close()
        bare.append(time.perf_counter() - start)
    return 1000 * statistics.median(views), 1000 * statistics.median(bare)


def opened(browser: Browser, port: int, token: str) -> Page:
    """A window with the graph of the entry."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(f"http://127.0.0.1:{port}/#token={token}")
    page.wait_for_selector("body[data-ready]")
    page.evaluate("location.hash = '#/reach/worker_0?at=worker_0'")
    page.wait_for_selector(".area svg")
    return page


def drawings(large: Page, small: Page, rounds: int) -> tuple[float, float]:
    """Milliseconds to draw two levels of the large graph, and all of the small one, each from one box a folder."""
    folded, full = [], []
    for _ in range(rounds):
        folded.append(large.evaluate(DRAWING, "l"))
        full.append(small.evaluate(DRAWING, "a"))
    return statistics.median(folded), statistics.median(full)


if __name__ == "__main__":
    main()
