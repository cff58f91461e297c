"""Times the playground in a real Chromium: the first answer cold and warm, and what is transferred.

python -m bench.playground [--rounds 5]

Cold: a browser that has nothing of it. Warm: the same browser once more, so that its files come from its own store.
The project has sixty agents, and a GitHub on 127.0.0.1 hands it out. Sizes are of Brotli at its best, as servers of
files keep them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from playground import site
from playground.document import Hosts
from tests.playground.conftest import commit
from tests.playground.github import GitHub, served

CHROMIUM = "/usr/bin/chromium"
ROOT = Path(__file__).parents[1]
PATIENCE = 120_000  # ms
AGENT = "---\nname: helper-{0}\ndescription: Helps.\ntools: Bash, WebFetch, Read\n---\nHelp.\n"
SIZES = """
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
console.log(JSON.stringify(process.argv.slice(2).map((path) => brotliCompressSync(readFileSync(path), best).length)));
"""


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        folder, project = Path(scratch) / "site", Path(scratch) / "project"
        site.write(folder, site.fetched(ROOT / ".playground"), Hosts(api="./api", raw="./raw"))
        for number in range(60):
            path = project / f".claude/agents/helper-{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(AGENT.format(number), encoding="utf-8")
        commit(project, "first")
        print(f"transferred, Brotli: {transferred(folder) / 1e6:.1f} MB (<= 12)")
        with served(folder, GitHub({"acme/shop": project})) as base, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            pairs = [answers(browser, f"{base}/?repo=acme/shop") for _ in range(rounds)]
            browser.close()
    for name, most, times in (
        ("cold", 15, [cold for cold, _ in pairs]),
        ("warm", 6, [warm for _, warm in pairs]),
    ):
        spread = f"{min(times):.1f} to {max(times):.1f} of {len(times)}"
        print(f"first answer, {name}: median {statistics.median(times):.1f} s, {spread} (<= {most})")


def transferred(folder: Path) -> int:
    """The size of all files, compressed."""
    paths = [str(path) for path in sorted(folder.rglob("*")) if path.is_file()]
    with tempfile.NamedTemporaryFile("w", suffix=".mjs") as script:
        script.write(SIZES)
        script.flush()
        done = subprocess.run(["node", script.name, *paths], check=True, capture_output=True, text=True)
    return sum(json.loads(done.stdout))


def answers(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds to the findings, in a browser without anything and once more."""
    context = browser.new_context()
    times = []
    for _ in range(2):
        page = context.new_page()
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_selector(".findings", timeout=PATIENCE)
        times.append(time.perf_counter() - began)
        page.close()
    context.close()
    return times[0], times[1]


if __name__ == "__main__":
    main()
