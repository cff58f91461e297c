"""The one document that browsers show: with its modules and styles inside, so that only the hash of each may run.

The modules are plain ES modules, each with a scope of its own. A document without a server can import none, so each
becomes a function here that returns its exports. No name is changed, and nothing is left out but comments and, in a
file, the views without data.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import posixpath
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.extensions.registry import features
from llmdo.features.page.shapes import answered

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from llmdo.features.page.endpoints import KeptAnswer

STATIC = Path(__file__).with_name("static")
FIRST = "app.js"
VIEWS = "views.js"
OTHERS = "others.js"
"""The module made of the views of extensions."""

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([./\w-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
_EXPORTS = re.compile(r"\bexport\s*\{([^}]*)\};?\s*$")  # how bundlers end a library
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_NEEDS = re.compile(r'^  needs: "([^"]+)",$', re.MULTILINE)
_COMMENT = re.compile(r"^\s*(?://.*|/\*\*?(?:[^*]|\*(?!/))*\*/)\s*?\n", re.MULTILINE)
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageDocument:
    """A document and the policy that goes with it."""

    html: str
    policy: str


@cache
def script(without: frozenset[str] = frozenset(), own: Path | None = None) -> str:
    """All modules that the first one needs, those before it first, as one script; those in `without` export nothing.

    Modules in the folder `own` stand in for those of the same names.
    """
    parts = {name: f"modules[{json.dumps(name)}] = {{}};\n" for name in sorted(without)}
    _add(FIRST, parts, (), own)
    return '"use strict";\nconst modules = {};\n' + "".join(parts.values())


def unshown(answers: Iterable[KeptAnswer]) -> frozenset[str]:
    """The modules of views with nothing to show from these answers only: their `needs` say so."""
    paths = {each.path for each in answers}
    names = [Path(target).as_posix() for _, target in _IMPORT.findall(_text(VIEWS))]
    needs = {name: _NEEDS.findall(_text(name)) for name in (*names, *view_scripts())}
    return frozenset(name for name, some in needs.items() if some and paths.isdisjoint(some))


@cache
def styles(own: Path | None = None) -> str:
    """All style sheets, in the order of their names; those of the folder `own` last."""
    folders = (STATIC, own) if own else (STATIC,)
    paths = (path for folder in folders for path in sorted(folder.glob("styles/*.css")))
    return "".join(path.read_text(encoding="utf-8") for path in paths)


@cache
def view_scripts() -> Mapping[str, Path]:
    """The scripts of the views of extensions, by their names as modules: each lies with the module of its endpoints."""
    scripts = {}
    for extension in features():
        for view in extension.views:
            path = Path(str(import_module(view).__file__)).with_suffix(".js")
            if path.is_file():
                scripts[f"{extension.name}.js"] = path
    return scripts


def _text(name: str, own: Path | None = None) -> str:
    """The text of a module; names are paths below `static`, or below `own`."""
    if own and (path := own / name).is_file():
        return path.read_text(encoding="utf-8")
    if name != OTHERS:
        return view_scripts().get(name, STATIC / name).read_text(encoding="utf-8")
    imports = [
        f'import {{ VIEWS as views{number} }} from "./{each}";' for number, each in enumerate(view_scripts())
    ]
    views = ", ".join(f"...(views{number} ?? [])" for number in range(len(imports)))
    return "\n".join([*imports, f"export const OTHERS = [{views}];\n"])


def _target(name: str, stated: str) -> str:
    """The name of a module that the module `name` imports as `stated`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), stated))


def _add(name: str, parts: dict[str, str], above: tuple[str, ...], own: Path | None) -> None:
    """Adds a module to `parts`, after those that it imports."""
    if name in above:
        raise ValueError(f"modules import each other in a circle: {' > '.join((*above, name))}")
    if name in parts:
        return
    text = _SOURCE_MAP.sub("", _text(name, own))
    for _, target in _IMPORT.findall(text):
        _add(_target(name, target), parts, (*above, name), own)
    parts[name] = _wrapped(name, text)


def _wrapped(name: str, text: str) -> str:
    """A module as a function that returns its exports."""

    def imported(match: re.Match[str]) -> str:
        names = ", ".join(_renamed(each, ": ") for each in _items(match[1]))
        return f"const {{ {names} }} = modules[{json.dumps(_target(name, match[2]))}];"

    text = _COMMENT.sub("", _IMPORT.sub(imported, text))
    exported = _EXPORT.findall(text)
    text = _EXPORT.sub("", text)
    if match := _EXPORTS.search(text):
        for each in _items(match[1]):
            inner, _, outer = each.partition(" as ")
            exported.append(f"{outer or inner}: {inner}")
        text = text[: match.start()] + text[match.end() :]
    if match := _OTHER.search(text):
        raise ValueError(f"{name}: `{match[0]}` is written in a way that the shell does not know")
    licence = (STATIC / name).with_suffix(".LICENSE")
    notice = f"/*\n{licence.read_text(encoding='utf-8').strip()}\n*/\n" if licence.is_file() else ""
    body = text.strip("\n")
    return f"{notice}modules[{json.dumps(name)}] = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();\n"


def _items(names: str) -> list[str]:
    return [each.strip() for each in names.split(",") if each.strip()]


def _renamed(item: str, by: str) -> str:
    outer, _, inner = item.partition(" as ")
    return f"{outer}{by}{inner}" if inner else outer


def document(answers: Collection[KeptAnswer] | None = None, first: str = "#/") -> PageDocument:
    """The document; with `answers`, it asks no server, and shows the view at `first`."""
    code = script(frozenset() if answers is None else unshown(answers))
    connect = "'self'" if answers is None else "'none'"
    kept = []
    if answers is not None:
        data = [
            {"path": each.path, "parameters": dict(each.parameters), "data": answered(each.data)}
            for each in answers
        ]
        kept = [f'<script type="application/gzip" id="kept">{_packed(data)}</script>']
    sources = {"connect-src": connect}
    return composed(code, styles(), sources, body(first, kept))


def body(first: str, data: Iterable[str] = ()) -> list[str]:
    """The lines of the body that the modules draw into, with elements that hold data."""
    return [
        f'<body data-first="{html.escape(first)}">',
        '<noscript>This page needs JavaScript. It asks nobody but this machine.</noscript><div id="app"></div>',
        *data,
    ]


def composed(
    code: str, style: str, sources: Mapping[str, str], lines: Iterable[str], title: str = "llmdo"
) -> PageDocument:
    """The document of a script, which may be empty, a style sheet and the lines of its body.

    `sources` are parts of its policy; its script and its style are added by their hashes.
    """
    if "</script" in code.lower() or "<!--" in code or "</style" in style.lower():
        raise ValueError("a module holds what ends a script")
    scripts = " ".join(filter(None, (_hash(code) if code else "", sources.get("script-src"))))
    allowed = {"img-src": "data:", "trusted-types": "'none'", **sources, "script-src": scripts or "'none'"}
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            *(f"{name} {allowed[name]}" for name in sorted(allowed)),
        )
    )
    whole = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{style}</style>",
        *lines,
        *([f"<script>{code}</script>"] if code else []),
    ]
    return PageDocument("\n".join(whole) + "\n", f"{policy}; frame-ancestors 'none'")


def _packed(data: object) -> str:
    """Data as letters safe in any document, compressed: most of many entries is the same."""
    text = json.dumps(
        data, separators=(",", ":")
    )  # halves of characters, as names of files may hold, are spelled out
    return base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
