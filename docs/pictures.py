"""Makes the pictures of the docs from the examples, with a real browser: `make pictures`.

Where a picture should show something else, change what it is made of here; nobody draws on them.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PICTURES = Path(__file__).with_name("pictures")
CHROMIUM = "/usr/bin/chromium"
COLOURS = 128  # of a palette: what is drawn are letters and lines
SCALE = 1.5  # pixels of a picture to one of the page


class Picture(NamedTuple):
    """One picture: what is shown of which example, in a window of which size."""

    name: str
    example: str
    patch: str | None
    """A patch of the example that is applied, and not committed."""
    address: str
    scheme: str
    size: tuple[int, int]


REACH = ("confused_deputy", "delegate.patch", "#/reach/triage?to=proc.exec")
ALL = (
    Picture("reach-light", *REACH, "light", (1120, 590)),
    Picture("reach-dark", *REACH, "dark", (1120, 590)),
    Picture("changes", "confused_deputy", "delegate.patch", "#/diff", "light", (1120, 590)),
    Picture(
        "gates", "approvals_demo", None, "#/reach/demo?to=fs.delete%3Aletters%2F**", "light", (1120, 760)
    ),
)


def main() -> None:
    """Makes all pictures again."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for picture in ALL:
            with TemporaryDirectory() as folder:
                root = _copied(picture, Path(folder))
                with _served(root) as link:
                    _draw(browser, link, picture)
        browser.close()


def _copied(picture: Picture, folder: Path) -> Path:
    """The example as a repository of its own, with what is changed since its only commit."""
    root = folder / picture.example
    shutil.copytree(
        ROOT / "examples" / picture.example, root, ignore=shutil.ignore_patterns(".llmdo", "__pycache__")
    )
    who = ("-c", "user.name=llmdo", "-c", "user.email=llmdo@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "before")):
        subprocess.run(["git", *words], cwd=root, check=True)
    if picture.patch:
        subprocess.run(["git", "apply", picture.patch], cwd=root, check=True)
        subprocess.run([sys.executable, "-m", "llmdo", "lock"], cwd=root, check=True, capture_output=True)
    return root


@contextmanager
def _served(root: Path) -> Iterator[str]:
    words = [sys.executable, "-m", "llmdo", "page", "--no-open"]
    with subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _draw(browser: Browser, link: str, picture: Picture) -> None:
    width, height = picture.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=picture.scheme,
        device_scale_factor=SCALE,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("body[data-ready]")
    page.evaluate(
        "address => { delete document.body.dataset.ready; location.hash = address }", picture.address
    )
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector(".area svg")
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    context.close()
    path = PICTURES / f"{picture.name}.png"
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
