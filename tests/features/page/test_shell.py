"""The one document that browsers show, as it is made of modules."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from llmdo.features.page import shell
from llmdo.features.page.endpoints import KeptAnswer
from tests.features.page.conftest import EXAMPLES
from tests.support.commands import llmdo

MODULES = sorted([*shell.STATIC.rglob("*.js"), *shell.view_scripts().values()])


def test_a_module_becomes_a_function_that_returns_what_it_exports() -> None:
    text = 'import { b, c as d } from "./x/y.js";\nexport const one = b;\nexport async function two() {}\n'
    assert shell._wrapped("a.js", text) == (
        'modules["a.js"] = (() => {\nconst { b, c: d } = modules["x/y.js"];\nconst one = b;\nasync function two() {}\n'
        "return { one, two };\n})();\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        'import x from "./x.js";',
        'import "./x.js";',
        "export default 1;",
        "export let a = 1;",
        'export * from "./x.js";',
    ],
)
def test_a_form_that_is_not_known_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is written in a way"):
        shell._wrapped("a.js", line + "\n")


def test_the_first_module_leads_to_all_others() -> None:
    every = {path.relative_to(shell.STATIC).as_posix() for path in shell.STATIC.rglob("*.js")}
    every |= {*shell.view_scripts(), shell.OTHERS}
    assert every == {*re.findall(r'^modules\["([^"]+)"\] =', shell.script(), re.MULTILINE)}


def test_a_view_that_a_file_can_lack_says_what_it_needs_where_that_is_read() -> None:
    """A view that a file is offered with, and has nothing for, would be a link to an error."""
    names = re.findall(r'from "\./([\w-]+\.js)"', (shell.STATIC / "views.js").read_text(encoding="utf-8"))
    paths = {name: shell.STATIC / name for name in names if name != shell.OTHERS} | shell.view_scripts()
    views = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    always = {name for name, text in views.items() if "needs:" not in text}
    assert always == {"day.js", "overview.js", "reach.js"}
    assert shell.unshown(()) == {*views} - always
    for name, text in views.items():
        assert text.count("\n  routes: ") == text.count("\n  needs: ") + (name in always), name


def modules_in(text: str) -> set[str]:
    return {*re.findall(r'^modules\["([^"]+)"\] = \(', text, re.MULTILINE)}


def test_a_file_has_no_code_but_that_of_what_it_shows(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert llmdo(EXAMPLES / "confused_deputy", "page", "--export", str(file)).returncode == 0
    small = modules_in(file.read_text(encoding="utf-8"))
    assert {"reach.js", "overview.js", "graph/draw.js", "search.js"} < small
    assert not small & {
        "diff.js",
        "run.js",
        "run/row.js",
        "inbox.js",
        "question.js",
        "batch.js",
        "totals.js",
    }
    run = shell.unshown([KeptAnswer(path="/api/run"), KeptAnswer(path="/api/runs")])
    with_run = modules_in(shell.script(run))
    assert {"run.js", "runs.js", "run/row.js", "call.js", "values.js"} < with_run
    assert not with_run & {"diff.js", "inbox.js", "question.js", "batch.js", "totals.js", "fleet.js"}


def test_no_name_in_a_module_is_one_that_anything_could_have() -> None:
    declared = (
        r"(?:\b(?:const|let|function|class)\s+|\bthis\.|[(,{\[]\s*)(one|said|told|found)\b(?=\s*[,)}\]=;.(:])"
    )
    for path in MODULES:
        code = re.sub(
            r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"[^\"\n]*\"", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        assert not re.findall(declared, code), path.name


def test_no_module_has_a_way_from_text_to_markup_or_code() -> None:
    for path in MODULES:
        ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|createContextualFragment"
        assert not re.findall(ways, path.read_text(encoding="utf-8")), path.name


def test_no_module_and_no_style_names_another_machine() -> None:
    for path in (*MODULES, *shell.STATIC.glob("styles/*.css")):
        addresses = set(re.findall(r"(?:https?|wss?):?//[^\s\"'`)]+", path.read_text(encoding="utf-8")))
        assert addresses <= {"http://www.w3.org/2000/svg"}, path.name


def held(document: str) -> Any:
    """The data that a document holds."""
    [packed] = re.findall(r'<script type="application/gzip" id="kept">(.*?)</script>', document, re.DOTALL)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--", "\u2028", "\ud800", "&lt;"])
def test_data_in_a_file_are_nothing_but_data(text: str) -> None:
    document = shell.document([KeptAnswer(path="/api/x", parameters={"name": text}, data=[text])]).html
    assert held(document) == [{"path": "/api/x", "parameters": {"name": text}, "data": [text]}]
    assert document.count("<script") == 2
    document.encode("utf-8")


def test_the_vendored_library_comes_with_its_licence() -> None:
    notice = (shell.STATIC / "vendor/dagre.LICENSE").read_text(encoding="utf-8")
    assert notice.strip() in shell.script()
    assert "Permission is hereby granted" in (shell.STATIC / "vendor/dagre.LICENSE").read_text(
        encoding="utf-8"
    )


def test_a_file_is_written_without_a_server(tmp_path: Path) -> None:
    done = llmdo(EXAMPLES / "confused_deputy", "page", "--export", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert "wrote" in done.stderr
    text = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "connect-src 'none'" in text
    assert {each["parameters"].get("entry") for each in held(text)} == {None, "triage", "release"}


def test_what_cannot_be_written_is_reported(tmp_path: Path) -> None:
    done = llmdo(EXAMPLES / "greeter", "page", "--export", str(tmp_path / "no" / "page.html"))
    assert done.returncode == 2
    assert "cannot write" in done.stderr
