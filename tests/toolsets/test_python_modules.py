"""Loading the workspace's Python: what is found, what it cannot shadow, and how its mistakes are told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from llmdo.diagnostic import LlmdoError
from llmdo.source import Location, Span
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules, _Searched, toolsets_in


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if type(path) is str])  # no other workspace
    before = set(sys.modules)
    with Root.open(tmp_path) as files:
        yield Modules(tmp_path, files)
    for name in set(sys.modules) - before:
        if "workspace" in name or name in (
            "sibling",
            "package",
            "package.inner",
            "own_tools",
            "own_tools.sibling",
        ):
            del sys.modules[name]


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def error_of(modules: Modules, reference: str) -> LlmdoError:
    with pytest.raises(LlmdoError) as caught:
        modules.load(reference)
    return caught.value


def test_an_attribute_of_a_file_or_of_a_package_is_loaded(modules, tmp_path):
    write(tmp_path, "tools/calc.py", "answer = 42")
    write(tmp_path, "package/inner.py", "answer = 43")
    assert modules.load("tools/calc.py:answer") == 42
    assert modules.load("package.inner:answer") == 43
    assert modules.load("json:dumps") is __import__("json").dumps


def test_a_module_is_run_once(modules, tmp_path):
    write(tmp_path, "once.py", "made = object()")
    assert modules.load("once.py:made") is modules.load("once.py:made")


def test_two_inspections_share_nothing(tmp_path, modules):
    write(tmp_path, "once.py", "made = object()")
    with Root.open(tmp_path) as files:
        assert Modules(tmp_path, files).load("once.py:made") is not modules.load("once.py:made")


def test_a_sibling_is_importable_but_shadows_nothing(modules, tmp_path):
    write(tmp_path, "json.py", "raise RuntimeError('shadowed')")
    write(tmp_path, "pydantic_ai.py", "raise RuntimeError('shadowed')")
    write(tmp_path, "sibling.py", "value = 7")
    write(tmp_path, "calc.py", "import json, sibling\nimport pydantic_ai.toolsets\nvalue = sibling.value")
    assert modules.load("calc.py:value") == 7
    assert sys.path[-1] == str(tmp_path)


def test_a_sibling_is_importable_by_a_relative_name(modules, tmp_path):
    write(tmp_path, "own_tools/sibling.py", "value = 8")
    write(tmp_path, "own_tools/calc.py", "from . import sibling\nfrom .sibling import value")
    assert modules.load("own_tools/calc.py:value") == 8


def test_a_file_may_have_the_name_of_a_library(modules, tmp_path):
    write(tmp_path, "tools/json.py", "import json\nvalue = json.dumps([1])")
    assert modules.load("tools/json.py:value") == "[1]"
    assert sys.modules["json"].__name__ == "json"


def test_dataclasses_and_pydantic_models_of_a_file_work(modules, tmp_path):
    write(
        tmp_path,
        "schemas.py",
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom pydantic import BaseModel\n"
        "@dataclass\nclass One:\n    n: int\nclass Two(BaseModel):\n    one: One\nmade = Two(one={'n': 1})",
    )
    assert modules.load("schemas.py:made").one.n == 1


@pytest.mark.parametrize(
    ("code", "told", "line"),
    [
        ("x = 1\nraise ValueError('no\\n good')", "importing `bad.py` raised ValueError: no good", 2),
        ("def f():\n    1 / 0\n\nf()", "importing `bad.py` raised ZeroDivisionError: division by zero", 2),
        ("import json\njson.loads('{')", "importing `bad.py` raised JSONDecodeError: ", 2),
        ("x = 1\nx = = 2", "importing `bad.py` raised SyntaxError: ", 2),
        ("import not_installed_anywhere", "importing `bad.py` raised ModuleNotFoundError: ", 1),
        ("x = 1\nimport sys; sys.exit(3)", "importing `bad.py` called sys.exit(3)", 2),
        ("class Odd(BaseException): pass\nraise Odd", "importing `bad.py` raised Odd", 2),
        ("from . import sibling", "importing `bad.py` raised ImportError: ", 1),
        ("raise ValueError('x' * 9999)", "importing `bad.py` raised ValueError: xxx", 1),
    ],
)
def test_a_failing_import_is_told_with_its_line(modules, tmp_path, code, told, line):
    write(tmp_path, "bad.py", code)
    before = set(sys.modules)
    error = error_of(modules, "bad.py:x")
    assert error.message.startswith(told)
    assert len(error.message) < 400
    assert error.at == Location("bad.py", Span(line, 1, line + 1, 1))
    assert not [name for name in set(sys.modules) - before if "workspace" in name]


def test_ctrl_c_during_an_import_goes_through(modules, tmp_path):
    write(tmp_path, "slow.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        modules.load("slow.py:x")


def test_a_missing_attribute_has_a_suggestion(modules, tmp_path):
    write(tmp_path, "calc.py", "calc_tools = 1")
    error = error_of(modules, "calc.py:calc_tolls")
    assert error.message == "`calc.py` has no attribute `calc_tolls`"
    assert error.hint == "did you mean `calc_tools`?"


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("none.py:x", "`none.py` does not exist"),
        ("link.py:x", "`link.py` is a link"),
        ("../outside.py:x", "`../outside.py` has a `..`"),
        ("folder.py:x", "`folder.py` is a folder"),
        ("not_there_at_all:x", "there is no module `not_there_at_all`"),
        ("json.not_there:x", "there is no module `json.not_there`"),
    ],
)
def test_a_module_that_is_not_there_is_told(modules, tmp_path, reference, told):
    write(tmp_path, "real.py", "x = 1")
    (tmp_path / "link.py").symlink_to("real.py")
    (tmp_path / "folder.py").mkdir()
    assert error_of(modules, reference).message.startswith(told)


def test_a_file_that_is_no_text_is_told(modules, tmp_path):
    (tmp_path / "bad.py").write_bytes(b"x = '\xff'\n")
    assert error_of(modules, "bad.py:x").message.startswith("importing `bad.py` raised ")
    (tmp_path / "nul.py").write_bytes(b"x = 1\0")
    assert error_of(modules, "nul.py:x").message.startswith("importing `nul.py` raised ")


def test_toolsets_are_public_instances_and_the_modules_own_classes(modules, tmp_path):
    write(
        tmp_path,
        "tools.py",
        "from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset\n"
        "one = FunctionToolset()\ntwo = one.prefixed('p')\n_hidden = FunctionToolset()\n"
        "class Mine(FunctionToolset): pass\nclass _Private(FunctionToolset): pass\n"
        "class Abstract(AbstractToolset): pass\nalias = Mine\nother = 3\n",
    )
    assert sorted(toolsets_in(modules.module("tools.py"))) == ["Mine", "alias", "one", "two"]


def test_loading_a_workspace_costs_no_more_for_all_that_were_loaded_before(modules, tmp_path, monkeypatch):
    write(tmp_path, "calc.py", "answer = 42")
    before = [_Searched(f"/workspaces/{number}") for number in range(500)]
    monkeypatch.setattr(sys, "path", [*sys.path, *before])
    events = 0

    def count(*_: object) -> None:
        nonlocal events
        events += 1

    sys.setprofile(count)
    try:
        modules.load("calc.py:answer")
    finally:
        sys.setprofile(None)
    assert events < 100 * len(sys.modules)
