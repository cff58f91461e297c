"""Links to the playground below the examples of the docs: a hook of mkdocs, `hooks` in mkdocs.yml.

An example is a block that is a whole manifest, a worker with its header, or a file that the text above it names
(``Write `PATH`:``). On one page, later ones are added to earlier ones, as a reader has them by then.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`(?P<path>[\w./-]+\.(?:toml|worker|py|md|json|yml|yaml))`[^`\n]*:\s*\Z")
_COMMENT = re.compile(r"# (?:[\w-]+/)?(?P<path>llmdo\.toml)\n")
_WORKER = re.compile(r"---\nname: (?P<name>[\w-]+)\n")
_TEMPLATE = re.compile(r"^\$ llmdo init \w+$", re.MULTILINE)
_TABLE = re.compile(r"^\[workspace\]$", re.MULTILINE)
_KINDS = {"toml", "yaml", "python", "json", "markdown"}
_ALONE = 'schema = 1\n\n[workspace]\nname = "example"\nworkers = ["workers/*.worker"]\n'


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with a link below each example."""
    return _BLOCK.sub(_Linked(markdown), markdown)


def packed(files: Mapping[str, str]) -> str:
    """Files as the parameter `files` of an address: JSON, deflated, in the letters of addresses."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = json.dumps(files, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(deflate.compress(text) + deflate.flush()).decode().rstrip("=")


def examples(markdown: str) -> Iterator[dict[str, str]]:
    """The files of each example of a page."""
    linked = _Linked(markdown)
    for block in _BLOCK.finditer(markdown):
        if files := linked.files_at(block):
            yield files


class _Linked:
    """The blocks of one page, each with its link; files gather from block to block."""

    def __init__(self, markdown: str) -> None:
        self._markdown = markdown
        self._files: dict[str, str] = {}

    def __call__(self, block: re.Match[str]) -> str:
        files = self.files_at(block)
        if not files:
            return block[0]
        return (
            f'{block[0]}\n\n<a href="playground/index.html?files={packed(files)}">Open in the playground</a>'
        )

    def files_at(self, block: re.Match[str]) -> dict[str, str]:
        """The files so far, if the block adds one; else nothing."""
        above, text = self._markdown[: block.start()], block["text"]
        if block["kind"] == "console" and _TEMPLATE.search(text):
            self._files = _template()
        path = self._path(block["kind"], above, text)
        if path is None:
            return {}
        self._files[path] = text
        whole = dict(self._files)
        if path.endswith(".worker"):
            whole.setdefault("llmdo.toml", _ALONE)
        return whole if "llmdo.toml" in whole else {}

    def _path(self, kind: str, above: str, text: str) -> str | None:
        if kind not in _KINDS:
            return None
        if named := _NAMED.search(above):
            return named["path"]
        if kind == "toml" and (_COMMENT.match(text) or (_TABLE.search(text) and text.startswith("schema"))):
            return "llmdo.toml"
        worker = _WORKER.match(text)
        return f"workers/{worker['name']}.worker" if worker else None


def _template() -> dict[str, str]:
    folder = ROOT / "templates" / "minimal"
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".toml", ".worker", ".py", ".yaml")
    }
