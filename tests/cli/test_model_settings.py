"""`model_settings` of a worker header: judged by `check`, recorded by `lock`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Llmdo

HEADER = "---\nname: main\nmodel_settings: {}\n---\nGo.\n"


def say(root: Path, settings: str) -> None:
    (root / "main.worker").write_text(HEADER.replace("{}", settings), encoding="utf-8")


def test_settings_are_in_the_lock_and_a_change_of_one_is_named(llmdo: Llmdo, workspace: Path) -> None:
    say(workspace, '{ temperature: 0.5, max_tokens: 500, stop_sequences: ["END"] }')
    assert llmdo("lock", cwd=workspace).code == 0
    text = (workspace / "llmdo.lock").read_text(encoding="utf-8")
    assert "[worker.main.model-settings]\nmax_tokens = 500\nstop_sequences = [" in text
    assert llmdo("check", "--locked", cwd=workspace).code == 0
    say(workspace, '{ temperature: 0.75, max_tokens: 500, stop_sequences: ["END"] }')
    done = llmdo("check", "--locked", cwd=workspace)
    assert done.code == 1
    assert "model-settings: `temperature` is `0.75`, it was `0.5`" in done.out


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ("{ temprature: 0.5 }", "LDO102", "`temperature`"),
        ("{ temperature: warm }", "LDO103", "temperature"),
        ("{ max_tokens: 0 }", "LDO103", "max_tokens"),
        ("{ thinking: much }", "LDO103", "thinking"),
        ("{ extra_body: {} }", "LDO102", "extra_body"),
    ],
)
def test_a_setting_that_is_none_is_a_finding(
    settings: str, code: str, message: str, llmdo: Llmdo, workspace: Path
) -> None:
    say(workspace, settings)
    done = llmdo("check", cwd=workspace)
    assert done.code == 1
    assert f"error[{code}]" in done.out
    assert message in done.out
