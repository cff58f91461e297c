"""Loading the workspace's Python: what is found, what it cannot shadow, and how its mistakes are told."""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from contextlib import ExitStack
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Location, Span
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.python import Modules, toolsets_in
from tests.support.listed import listed


class Workspace:
    """A folder whose modules are loaded as they are listed when the first of them is."""

    def __init__(self, root: Path, files: Root) -> None:
        self.root, self.files = root, files
        self.opened: Modules | None = None

    def __getattr__(self, name: str) -> object:
        if self.opened is None:
            self.opened = Modules(self.root, self.files, listed(self.root)).__enter__()
        return getattr(self.opened, name)


@pytest.fixture
def modules(tmp_path):
    finders, names = [*sys.meta_path], set(sys.modules)
    with Root.open(tmp_path) as files:
        workspace = Workspace(tmp_path, files)
        yield workspace
        if workspace.opened:
            workspace.opened.__exit__()
    assert sys.meta_path == finders
    left = {
        name: getattr(sys.modules[name], "__file__", None)
        for name in set(sys.modules) - names
        if not name.startswith("_llmdo_")
    }
    assert not [name for name, file in left.items() if file and Path(file).is_relative_to(tmp_path)]


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
    with Root.open(tmp_path) as files, Modules(tmp_path, files, listed(tmp_path)) as others:
        assert others.load("once.py:made") is not modules.load("once.py:made")


def test_a_sibling_is_importable_but_shadows_nothing(modules, tmp_path):
    write(tmp_path, "json.py", "raise RuntimeError('shadowed')")
    write(tmp_path, "pydantic_ai.py", "raise RuntimeError('shadowed')")
    write(tmp_path, "sibling.py", "value = 7")
    write(tmp_path, "calc.py", "import json, sibling\nimport pydantic_ai.toolsets\nvalue = sibling.value")
    assert modules.load("calc.py:value") == 7
    assert str(tmp_path) not in sys.path


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
    ("code", "message", "line"),
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
def test_a_failing_import_is_reported_with_its_line(modules, tmp_path, code, message, line):
    write(tmp_path, "bad.py", code)
    before = set(sys.modules)
    error = error_of(modules, "bad.py:x")
    assert error.message.startswith(message)
    assert len(error.message) < 400
    assert error.at == Location("bad.py", Span(line, 1, line + 1, 1))
    assert not [name for name in set(sys.modules) - before if "workspace" in name]


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        (
            "tools.py",
            "from pydantic_ai.tools import Tool\nTool(5)\n",
            2,
        ),  # raised in line 400 or so of a `tools.py`
        ("odd.py", "raise SyntaxError('no', (__file__, 99, 1, 'x'))\n", None),
    ],
)
def test_a_failing_import_names_a_line_of_the_file_itself(modules, tmp_path, name, code, line):
    write(tmp_path, name, code)
    place = Location(name, Span(line, 1, line + 1, 1)) if line else Location(name)
    assert error_of(modules, f"{name}:x").at == place


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
    ("reference", "message"),
    [
        ("none.py:x", "`none.py` does not exist"),
        ("link.py:x", "`link.py` is a link"),
        ("../outside.py:x", "`../outside.py` has a `..`"),
        ("folder.py:x", "`folder.py` is a folder"),
        ("not_there_at_all:x", "there is no module `not_there_at_all`"),
        ("json.not_there:x", "there is no module `json.not_there`"),
    ],
)
def test_a_module_that_is_not_there_is_reported(modules, tmp_path, reference, message):
    write(tmp_path, "real.py", "x = 1")
    (tmp_path / "link.py").symlink_to("real.py")
    (tmp_path / "folder.py").mkdir()
    assert error_of(modules, reference).message.startswith(message)


def test_a_file_that_is_no_text_is_reported(modules, tmp_path):
    (tmp_path / "bad.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "nul.py").write_bytes(b"x = 1\0")
    assert error_of(modules, "bad.py:x").message.startswith("importing `bad.py` raised ")
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


def compiled_beside(folder: Path, name: str, text: str, place: str) -> None:
    """Puts a compiled module at `place` that Python would believe whatever the source says."""
    write(folder, f"hidden/{name}.py", text)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    source = str(folder / f"hidden/{name}.py")
    py_compile.compile(
        source,
        str(folder / place),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        doraise=True,
    )
    (folder / f"hidden/{name}.py").unlink()


def test_a_compiled_file_is_never_what_runs(modules, tmp_path):
    write(tmp_path, "helpers.py", "value = 'read'")
    write(tmp_path, "calc.py", "import helpers\nvalue = helpers.value")
    tag = sys.implementation.cache_tag
    compiled_beside(tmp_path, "helpers", "value = 'PWNED'", f"__pycache__/helpers.{tag}.pyc")
    compiled_beside(tmp_path, "calc", "value = 'PWNED'", f"__pycache__/calc.{tag}.pyc")
    assert modules.load("calc.py:value") == "read"


def test_an_extension_module_beside_the_source_is_never_what_runs(modules, tmp_path):
    write(tmp_path, "helpers.py", "value = 'read'")
    (tmp_path / f"helpers{EXTENSION_SUFFIXES[0]}").write_bytes(b"\x7fELF and so on")
    write(tmp_path, "calc.py", "import helpers\nvalue = helpers.value")
    assert modules.load("calc.py:value") == "read"


@pytest.mark.parametrize("name", ["fast.pyc", f"fast{EXTENSION_SUFFIXES[0]}", "fast/__init__.pyc"])
def test_a_module_without_source_is_refused(modules, tmp_path, name):
    compiled_beside(tmp_path, "fast", "value = 'PWNED'", name)
    write(tmp_path, "calc.py", "try:\n    import fast\nexcept ImportError:\n    fast = None")
    error = error_of(modules, "calc.py:fast")
    assert error.message == f"`{name}` is imported as `fast`, and of a workspace only Python source is"
    assert error.at == Location("calc.py", Span(2, 1, 3, 1))


def test_a_file_that_was_not_listed_is_refused_by_whatever_way_it_is_imported(tmp_path):
    write(tmp_path, "plugins/extra.py", "value = 'unread'")
    write(tmp_path, "src/other.py", "value = 'unread'")
    write(tmp_path, "a.py", "import importlib\nimportlib.import_module('plugins.extra')")
    write(tmp_path, "b.py", "import sys, importlib\nsys.path.insert(0, __file__[:-4] + 'src')\nimport other")
    write(tmp_path, "c.py", "def later():\n    import plugins.extra")
    path = [*sys.path]
    code = {name: digest for name, digest in listed(tmp_path).items() if "/" not in name}
    try:
        with Root.open(tmp_path) as files, Modules(tmp_path, files, code) as modules:
            for name, place in (("a.py:x", "plugins/extra.py"), ("b.py:x", "src/other.py")):
                error = error_of(modules, name)
                assert error.message.startswith(f"`{place}` is imported as ")
                assert f'[toolsets.X] sources = ["{place}"]' in error.hint
            with pytest.raises(LlmdoError, match=r"plugins/extra\.py"):
                modules.load("c.py:later")()
    finally:
        sys.path[:] = path


def test_a_file_that_changed_after_it_was_read_is_refused(tmp_path):
    write(tmp_path, "helpers.py", "value = 1")
    write(tmp_path, "calc.py", "import helpers")
    code = listed(tmp_path)
    write(tmp_path, "helpers.py", "value = 2")
    with Root.open(tmp_path) as files, Modules(tmp_path, files, code) as modules:
        assert error_of(modules, "calc.py:helpers").message.startswith("`helpers.py` is not what it was")


def test_a_package_that_came_up_after_the_reading_shadows_nothing(tmp_path):
    write(tmp_path, "helpers.py", "value = 'read'")
    write(tmp_path, "calc.py", "import helpers\nvalue = helpers.value")
    code = listed(tmp_path)
    write(tmp_path, "helpers/__init__.py", "value = 'PWNED'")
    with Root.open(tmp_path) as files, Modules(tmp_path, files, code) as modules:
        assert modules.load("calc.py:value") == "read"


def test_two_workspaces_keep_modules_of_one_name_apart_and_leave_nothing_behind(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name, "helpers.py", f"value = '{name}'")
        write(tmp_path / name, "package/inner.py", f"value = '{name}'")
        write(tmp_path / name, "late.py", f"value = '{name}'")
        write(
            tmp_path / name,
            "calc.py",
            "import helpers\nfrom package import inner\n"
            "def values():\n    import late\n    return {helpers.value, inner.value, late.value}",
        )
    finders, names, path = [*sys.meta_path], set(sys.modules), [*sys.path]
    with ExitStack() as stack:
        loaded = {}
        for name in ("one", "two"):
            root = tmp_path / name
            files = stack.enter_context(Root.open(root))
            loaded[name] = stack.enter_context(Modules(root, files, listed(root))).load("calc.py:values")
        assert loaded["one"]() == {"one"}
        del sys.modules["late"]  # what was imported by name first is what the process has for it
        assert loaded["two"]() == {"two"}
    assert (sys.meta_path, sys.path) == (finders, path)
    assert not {"helpers", "package", "package.inner", "late"} & (set(sys.modules) - names)


def test_what_the_process_itself_imported_of_a_workspace_stays_its_own(tmp_path, monkeypatch):
    write(tmp_path, "helpers.py", "value = object()")
    write(tmp_path, "calc.py", "import helpers")
    monkeypatch.syspath_prepend(str(tmp_path))
    import helpers as ours

    code = listed(tmp_path)
    try:
        with Root.open(tmp_path) as files, Modules(tmp_path, files, code) as modules:
            assert modules.load("calc.py:helpers").value is not ours.value
            assert sys.modules["helpers"] is ours
        assert sys.modules["helpers"] is ours
    finally:
        del sys.modules["helpers"]


def test_nobody_else_finds_the_modules_of_a_workspace(tmp_path):
    write(tmp_path, "helpers_of_mine.py", "value = 1")
    write(tmp_path, "calc.py", "import helpers_of_mine")
    code = listed(tmp_path)
    with Root.open(tmp_path) as files, Modules(tmp_path, files, code):
        assert importlib.util.find_spec("helpers_of_mine") is None


def test_a_file_is_one_module_whether_it_is_loaded_by_its_path_or_imported(tmp_path: Path) -> None:
    (tmp_path / "kinds.py").write_text("class Kind: pass\n", encoding="utf-8")
    (tmp_path / "user.py").write_text("from kinds import Kind\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("import kinds\n1 / 0\n", encoding="utf-8")
    for order in (["kinds.py", "user.py"], ["user.py", "kinds.py"]):
        with Root.open(tmp_path) as files, Modules(tmp_path, files, listed(tmp_path)) as modules:
            first, second = (modules.load(f"{place}:Kind") for place in order)
            assert first is second
            for _ in range(2):  # what failed is no module: it is run, and fails, again
                with pytest.raises(LlmdoError, match="ZeroDivisionError"):
                    modules.load("broken.py:kinds")
        assert "kinds" not in sys.modules
