"""Names that govern a run, in every spelling that a file system may take for the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.extensions.registry import features
from llmdo.graph.inventory import Inventory
from llmdo.policy.protection import NamePatterns, declared_by_change, is_code, is_protected, raised_by_change
from llmdo.workspace import project
from tests.support.laws import tried

GOVERNING = {"tools/calc.py", "schemas", "Prüfer.py"}


@pytest.mark.few(13)
@pytest.mark.parametrize(
    "path",
    [
        "llmdo.toml",
        "llmdo.lock",
        "LLMDO.TOML",
        "nested/llmdo.toml",
        "workers/main.worker",
        "workers/new.worker.md",
        "a.WORKER/x",
        ".llmdo/runs/1.sqlite",
        ".git/config",
        ".GIT/hooks/pre-commit",
        "sub/.git/config",
        ".g\u200cit/config",
        ".git./config",
        ".git /config",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        ".vscode/tasks.json",
        ".idea/x",
        ".devcontainer/devcontainer.json",
        ".cursor/mcp.json",
        ".claude/settings.json",
        ".envrc",
        ".env",
        "conftest.py",
        "tests/conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        ".pre-commit-config.yaml",
        ".gitattributes",
        ".gitmodules",
        "tools/calc.py",
        "TOOLS/Calc.py",
        "./tools//calc.py",
        "tools/calc.cpython-311-x86_64-linux-gnu.so",
        "tools/calc.pyd",
        "tools/calc.pyc",
        "tools/__pycache__/calc.cpython-311.pyc",
        "schemas/deck.py",
        "Pru\u0308fer.py",
    ],
)
def test_a_name_that_governs_the_run_is_protected(path):
    assert is_protected(path, GOVERNING)


@pytest.mark.parametrize(
    "path",
    [
        "reports/a.md",
        "worker",
        "git/config",
        "llmdo.toml.md",
        "env",
        "build/a.md",
        "model.pth",
        "head/a.md",
        "environment/notes.md",
        "data/rows.csv",
        "notes.json",
    ],
)
def test_an_ordinary_name_is_neither_protected_nor_code(path):
    assert not is_protected(path, GOVERNING)
    assert not is_code(path)


NAMES_OF_MANY_THINGS = {"agents", "chatmodes", "commands", "plugins", "prompts", "skills", "workflows"}
"""Folders by which a format is known, and whose names say nothing of agents elsewhere: they need a name besides."""


@pytest.mark.parametrize("form", [form for each in features() for form in each.formats])
def test_files_by_which_another_tool_is_known_are_protected_or_code(form):
    patterns = {
        pattern for each in features() if form in each.formats for pattern in each.formats[form].files
    }
    parts = {
        pattern: [part for part in pattern.split("/") if part not in ("*", "**")] for pattern in patterns
    }
    own = {
        pattern: names
        for pattern, names in parts.items()
        if {name for name in names if not name.startswith("*")} - NAMES_OF_MANY_THINGS
        or names[-1].count(".") > 1
    }
    unsaid = [
        pattern
        for pattern, names in own.items()
        if not is_protected(path := "/".join(names).replace("*", "x")) and not is_code(path)
    ]
    assert unsaid == []


@pytest.mark.few(13)
@pytest.mark.parametrize(
    "path",
    [
        "tools/calc2.py", "tools/calc2.pyc", "Makefile", "makefile", "MAKEFILE", "sub/GNUmakefile", "a.sh", "a.SH", "a.js",
        "a.tsx", "web/a.mjs", "package.json", "sub/package.json", "Dockerfile", "Dockerfile.prod", "compose.yaml",
        "docker-compose.override.yml", "pyproject.toml", "requirements-dev.txt", "uv.lock", "tox.ini", "Cargo.toml",
        "go.mod", "build.gradle", "CLAUDE.md", "sub/claude.md", "AGENTS.md", "GEMINI.md", "x.instructions.md",
        ".cursorrules", "opencode.json", ".bashrc", ".vimrc", "x.ipynb", "lib/x.so.1", "x.whl", "x.jar",
        "venv/lib/python3/site-packages/x.txt", "lib/site-packages/x.pth", "x/HEAD", "x/BUILD", ".venv/bin/tool", "node_modules/.bin/tool", ".tox/py/x", "C\u200bLAUDE.md",
        "a.py ", "a.py.", "Ma\u200bkefile",
    ],
)  # fmt: skip
def test_a_name_of_what_is_executed_is_code_and_not_protected(path):
    assert is_code(path)
    assert not is_protected(path, GOVERNING)


@pytest.mark.parametrize(
    ("scope", "governing", "raised"),
    [
        ("reports/a.md", (), []),
        ("reports/a.py", (), ["fs.write.code"]),
        ("reports/**", (), ["fs.write.code"]),
        ("reports/**", ("reports/a.py",), ["fs.write.protected", "fs.write.code"]),
        ("reports/a.py", ("reports/a.py",), ["fs.write.protected"]),
        ("tools/new.py", ("tools/*.py",), ["fs.write.protected"]),
        ("tools/deep/new.py", ("tools/*.py",), ["fs.write.code"]),
        ("tools/deep/new.md", ("tools/**",), ["fs.write.protected"]),
        ("tools/deep/**", ("tools/*.py",), ["fs.write.code"]),
        ("tools/deep/**", ("tools/**/*.py",), ["fs.write.protected", "fs.write.code"]),
        ("tools/**", ("tools/*.py",), ["fs.write.protected", "fs.write.code"]),
        ("other/**", ("tools/*.py",), ["fs.write.code"]),
        ("a/**", ("**/x.py",), ["fs.write.protected", "fs.write.code"]),
        ("TOOLS/New.PY", ("tools/*.py",), ["fs.write.protected"]),
        ("tools/new.pyc", ("tools/*.py",), ["fs.write.protected"]),
        ("server/data/x.md", ("server/",), ["fs.write.protected"]),
        ("**", (), ["fs.write.protected", "fs.write.code"]),
    ],
)
def test_what_a_change_raises_follows_from_its_scope_and_what_governs(scope, governing, raised):
    assert [each.name for each in raised_by_change(scope, governing)] == raised
    assert {each.scope for each in raised_by_change(scope, governing)} <= {scope}


PARTS = st.sampled_from(["a", "b", "c.py", "d.js", "*", "**", "x?", "llmdo.toml"])
PATHS = st.lists(st.sampled_from(["a", "b", "c.py", "d.js", "xy", "llmdo.toml"]), min_size=1, max_size=4)


@given(st.lists(st.lists(PARTS, min_size=1, max_size=3).map("/".join), max_size=3), PATHS, st.integers(0, 3))
def test_a_folder_holds_what_a_file_in_it_is(governing, path, depth):
    """Writing to a folder asks where writing to a file in it does, at a terminal where an inventory names the file.

    Of names alone, such as that of a new `.git`, any folder may come to hold one: there the question about code is asked.
    """
    scope = "/".join(path[:depth]) + "/**" if depth and depth < len(path) else "**"
    file = "/".join(path)
    of_file, of_folder = ({each.name for each in raised_by_change(at, governing)} for at in (file, scope))
    assert "fs.write.code" in of_folder
    assert "fs.write.protected" in of_folder or not is_protected(file, governing) or is_protected(file)
    assert of_file <= {each.name for each in declared_by_change(scope)}


@given(st.lists(st.lists(PARTS, min_size=1, max_size=3).map("/".join), max_size=3), PATHS)
def test_what_a_change_of_a_path_declares_holds_what_it_raises_where_that_is_a_folder(governing, parts):
    path = "/".join(parts)
    declared = declared_by_change(path, may_be_folder=True)
    for raised in (*raised_by_change(path, governing), *raised_by_change(f"{path}/**", governing)):
        assert any(each.contains(raised) for each in declared), raised


def test_what_an_import_would_find_is_protected_before_it_lies_there(tmp_path):
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\ntoolset-modules = ["tools/*.py"]\n'
    )
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/calc.py").write_text(
        "import helpers\nfrom . import near\ntry:\n    import fastpath\nexcept ImportError:\n    fastpath = None\n"
        "def later():\n    from plugins.deep import thing\n"
    )
    (tmp_path / "helpers.py").write_text("")
    governing = Inventory.of(project.read(tmp_path).graph).governing
    for path in (
        "helpers.py", "helpers/__init__.py", "helpers/__init__.abi3.so", "fastpath.py", "fastpath.so",
        "tools/__init__.py", "tools/near.py", "tools/near/__init__.py", "plugins/__init__.py", "plugins/deep.py",
        "plugins/deep/thing.py", "__pycache__/helpers.cpython-311.pyc",
    ):  # fmt: skip
        assert is_protected(path, governing), path
    for path in ("reports/a.md", "helpers/data.txt", "fastpath.txt", "tools/notes.md", "other.py"):
        assert not is_protected(path, governing), path


NAMES = st.text(alphabet="ab.*-", min_size=1, max_size=8)


@tried(100)
@given(patterns=st.lists(NAMES, min_size=1, max_size=5), path=st.lists(NAMES, min_size=1, max_size=3))
def test_patterns_of_names_match_as_the_regular_expression_that_they_are(
    patterns: list[str], path: list[str]
) -> None:
    named = "|".join("[^/]*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    expected = re.search(f"(?:^|/)(?:{named})(?:/|$)", "/".join(path))
    assert NamePatterns(patterns).match(tuple(path)) == bool(expected)
