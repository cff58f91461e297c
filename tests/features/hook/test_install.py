"""`llmdo hook install` adds its hooks to the settings of a client, and nothing else."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.hook import install
from llmdo.features.hook.clients import NAMES
from llmdo.foreign.events import OWN_HOOK, is_harmless
from llmdo.workspace import project
from tests.features.hook.sessions import Session
from tests.support.commands import llmdo

SHARED = [
    name for name in NAMES if not hasattr(import_module(f"llmdo.features.hook.clients.{name}"), "own_file")
]
"""The clients whose hooks are in settings with other things."""
APART = [name for name in NAMES if name not in SHARED]


def settings(client: str) -> str:
    return str(import_module(f"llmdo.features.hook.clients.{client}").SETTINGS)


@pytest.mark.parametrize("client", SHARED)
def test_settings_are_written_once_and_keep_what_they_have(client: str, tmp_path: Path) -> None:
    path = tmp_path / settings(client)
    path.parent.mkdir()
    own = {"type": "command", "command": "make lint"}
    before: dict[str, Any] = {
        "model": "x",
        "hooks": {"SessionStart": [{"hooks": [own]}], "Stop": [{"hooks": [own]}]},
        "z": ["é"],
    }
    path.write_text(json.dumps(before, indent=4, ensure_ascii=False))
    install.write(tmp_path, install.change_for(tmp_path, client))
    text = path.read_text()
    after = json.loads(text)
    assert '\n    "model"' in text
    assert "é" in text
    assert [*after] == [*before]
    assert after["hooks"]["Stop"] == before["hooks"]["Stop"]
    assert after["hooks"]["SessionStart"][0] == before["hooks"]["SessionStart"][0]
    assert len(after["hooks"]["SessionStart"]) == 2
    assert install.change_for(tmp_path, client).is_made
    assert install.is_installed(tmp_path, client)


@pytest.mark.parametrize("client", SHARED)
def test_new_settings_have_the_hooks_alone_and_the_other_form_replaces_them(
    client: str, tmp_path: Path
) -> None:
    change = install.change_for(tmp_path, client)
    assert change.diff.startswith("--- /dev/null\n")
    install.write(tmp_path, change)
    install.write(tmp_path, install.change_for(tmp_path, client, locked=True))
    data = json.loads((tmp_path / settings(client)).read_text())
    commands = [each["hooks"][0]["command"] for groups in data["hooks"].values() for each in groups]
    assert {*commands} == {install.command_for(client, locked=True)}
    assert all(len(groups) == 1 for groups in data["hooks"].values())


@pytest.mark.parametrize("client", APART)
def test_a_file_apart_is_replaced_as_a_whole(client: str, tmp_path: Path) -> None:
    path = tmp_path / settings(client)
    path.parent.mkdir(parents=True)
    path.write_text("// of another version\n")
    change = install.change_for(tmp_path, client)
    assert "-// of another version" in change.diff
    install.write(tmp_path, change)
    assert install.change_for(tmp_path, client).is_made
    install.write(tmp_path, install.change_for(tmp_path, client, locked=True))
    assert json.dumps(install.command_for(client, locked=True)) in path.read_text()
    assert install.is_installed(tmp_path, client)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"SessionStart": {}}}', "// x\n{}", "\xff"]
)
def test_settings_of_another_form_are_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(LlmdoError):
        install.change_for(tmp_path, "claude")


@pytest.mark.parametrize("link", [".claude", ".claude/settings.json"])
def test_nothing_is_written_through_a_link(link: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "settings.json").parent.mkdir()
    (elsewhere / "settings.json").write_text("{}")
    (tmp_path / "p").mkdir()
    if "/" in link:
        (tmp_path / "p/.claude").mkdir()
    (tmp_path / "p" / link).symlink_to(elsewhere / "settings.json" if "/" in link else elsewhere)
    with pytest.raises(LlmdoError, match="link"):
        install.change_for(tmp_path / "p", "claude")
    assert (elsewhere / "settings.json").read_text() == "{}"


def test_settings_that_were_changed_meanwhile_are_not_overwritten(tmp_path: Path) -> None:
    change = install.change_for(tmp_path, "claude")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{}")
    with pytest.raises(LlmdoError, match="meanwhile"):
        install.write(tmp_path, change)


@pytest.mark.parametrize("client", NAMES)
def test_its_own_command_is_known_to_allow_nothing(client: str) -> None:
    for locked in (False, True):
        assert is_harmless(install.command_for(client, locked=locked))
    assert not OWN_HOOK.fullmatch(f"{install.command_for(client)}; true")
    assert not OWN_HOOK.fullmatch(install.command_for(client).replace("denied", "$(true)"))


def test_the_hooks_change_nothing_of_what_agents_reach(session: Session) -> None:
    before = project.read(session.root).graph
    install.write(session.root, install.change_for(session.root, "claude"))
    after = project.read(session.root).graph
    assert after.workers == before.workers
    assert after.entries == before.entries


def test_the_command_shows_the_change_and_writes_it_if_told_to(session: Session) -> None:
    words = ("hook", "install", "claude")
    shown = llmdo(session.root, *words)
    assert shown.returncode == 1
    assert '+            "command": "llmdo hook claude ||' in shown.stdout
    assert not (session.root / ".claude/settings.json").exists()
    assert llmdo(session.root, *words, "--yes").returncode == 0
    assert (session.root / ".claude/settings.json").exists()
    again = llmdo(session.root, *words)
    assert (again.returncode, again.stdout) == (0, "")


SWITCHES = {
    "claude": (".claude/settings.local.json", '{"disableAllHooks": true}'),
    "codex": (".codex/config.toml", "[features]\nhooks = false\n"),
    "copilot": (".github/copilot/settings.json", '{"disableAllHooks": true}'),
    "gemini": (".gemini/settings.json", '"hooksConfig": {"enabled": false}'),
}


@pytest.mark.parametrize("client", SWITCHES)
def test_hooks_that_are_switched_off_in_an_adopted_project_are_a_finding(client: str, tmp_path: Path) -> None:
    manifest = f'schema = 1\n[workspace]\nname = "shop"\nfrom = ["{client}"]\n'
    (tmp_path / "llmdo.toml").write_text(manifest)
    install.write(tmp_path, install.change_for(tmp_path, client))
    assert "switched off" not in llmdo(tmp_path, "check").stdout
    path, text = SWITCHES[client]
    if client == "gemini":
        text = f"{{{text},{(tmp_path / path).read_text().lstrip().removeprefix('{')}"
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text)
    done = llmdo(tmp_path, "check")
    assert "does not ask llmdo, because hooks are switched off here" in done.stdout
    assert f"--> {path}:" in done.stdout
