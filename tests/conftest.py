"""What every test starts from: an environment that says nothing about llmdo."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _silent_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "NO_COLOR", "LLMDO_LOCKED", "LLMDO_MODEL", "LLMDO_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CI_PROJECT_DIR", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
