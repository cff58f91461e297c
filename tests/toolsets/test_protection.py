"""Names that govern a run, in every spelling that a file system may take for the same."""

from __future__ import annotations

import pytest

from llmdo.toolsets.protection import is_protected

GOVERNING = {"tools/calc.py", "schemas", "Prüfer.py"}


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
        "tools/calc.pyc",
        "tools/calc2.py",
        "env",
    ],
)
def test_an_ordinary_name_is_not_protected(path):
    assert not is_protected(path, GOVERNING)
