"""The document of the playground: the page's shell with modules of its own, and the policy that names its two hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.features.page import shell

if TYPE_CHECKING:
    from collections.abc import Mapping

STATIC = Path(__file__).with_name("static")
WORKER = STATIC / "worker.js"


@dataclass(frozen=True, slots=True)
class Hosts:
    """The addresses of GitHub, or of a server that answers as it does."""

    api: str = "https://api.github.com"
    raw: str = "https://raw.githubusercontent.com"
    site: str = "https://github.com"


def document(examples: Mapping[str, object], hosts: Hosts) -> str:
    """The document.

    The worker is made from a blob with its text, so that this policy holds in it as well: a worker with an address of
    its own would have none.
    """
    code = shell.script(frozenset(), STATIC)
    sources = {
        "script-src": "'self' 'wasm-unsafe-eval'",
        "worker-src": "'self' blob:",
        "connect-src": f"'self' {_origin(hosts.api)} {_origin(hosts.raw)}".strip(),
        "manifest-src": "'self'",
        "trusted-types": "own",
    }
    data = [
        _element(
            "hosts", "application/json", json.dumps({"api": hosts.api, "raw": hosts.raw, "site": hosts.site})
        ),
        _element("examples", "application/json", json.dumps(examples)),
        _element("worker", "text/plain", WORKER.read_text(encoding="utf-8")),
    ]
    return shell.composed(code, shell.styles(STATIC), sources, shell.body("#/", data)).html


def _origin(address: str) -> str:
    if address.startswith("."):
        return ""  # at the server of the document itself
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _element(name: str, kind: str, text: str) -> str:
    if "</script" in text.lower() and kind != "application/json":
        raise ValueError(f"{name} holds what ends a script")
    text = text.replace("<", "\\u003c") if kind == "application/json" else text
    return f'<script type="{kind}" id="{name}">{text}</script>'
