"""Names that govern a run, in every spelling that a file system may take for the same."""

from __future__ import annotations

import pytest

from llmdo.graph.inventory import governing_files
from llmdo.policy.protection import is_protected
from llmdo.workspace import project

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
        "x.pth",
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
        "Makefile",
        "worker",
        "git/config",
        "llmdo.toml.md",
        "tools/calc2.py",
        "tools/calc2.pyc",
        "env",
    ],
)
def test_an_ordinary_name_is_not_protected(path):
    assert not is_protected(path, GOVERNING)


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
    governing = governing_files(project.read(tmp_path).graph)
    for path in (
        "helpers.py", "helpers/__init__.py", "helpers/__init__.abi3.so", "fastpath.py", "fastpath.so",
        "tools/__init__.py", "tools/near.py", "tools/near/__init__.py", "plugins/__init__.py", "plugins/deep.py",
        "plugins/deep/thing.py", "__pycache__/helpers.cpython-311.pyc",
    ):  # fmt: skip
        assert is_protected(path, governing), path
    for path in ("reports/a.md", "helpers/data.txt", "fastpath.txt", "tools/notes.md", "other.py"):
        assert not is_protected(path, governing), path
