"""Extensions that are installed distributions: what each may add, who has to want it, and that nothing is run before."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.diff import diff
from llmdo.graph.inventory import EXECUTED, Inventory
from llmdo.workspace import project
from tests.extensions.conftest import LISTED, SOURCES, commit, forget, install, plant
from tests.support.commands import llmdo
from tests.support.waiting import aged


def refused(root: Path, sentence: str) -> None:
    """Check that `check` says why an extension is not loaded, and that no command goes on without it."""
    done = llmdo(root, "check")
    assert (done.returncode, sentence in done.stdout) == (2, True), done.stdout
    assert "LDO114" in done.stdout
    assert "--> llmdo.toml:8:15" in done.stdout
    assert "acme_llmdo" not in sys.modules


OTHERS = [
    ["run"], ["lock"], ["reach"], ["reach", "--graph"], ["eval"], ["scan"], ["check", "--from", "acme", "."],
    ["explain", "ACME001"],
]  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("words", [["check"], ["check", "--format", "json"], *OTHERS], ids=" ".join)
def test_nothing_is_imported_that_the_policy_does_not_list(
    root: Path, packages: Path, policy: Path, words: list[str]
) -> None:
    policy.unlink()
    canary = plant(packages)
    done = llmdo(root, *words)
    assert done.returncode == 2, done.stdout
    assert "the extension `acme-llmdo` is not loaded" in done.stdout + done.stderr
    assert 'extensions = ["acme-llmdo"]`' in done.stdout + done.stderr or "--format" in words
    assert not canary.exists()
    assert (root / "llmdo.lock").read_text() == (SOURCES / "workspace/llmdo.lock").read_text()


def test_a_check_that_was_remembered_is_not_believed_by_another_policy(
    root: Path, packages: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMDO_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    aged(root, packages, policy.parent)
    assert llmdo(root, "check").returncode == 0
    policy.unlink()
    assert llmdo(root, "check").returncode == 2


@pytest.mark.parametrize("through_a_link", [False, True])
def test_what_lies_in_an_environment_of_the_workspace_is_refused(
    root: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, through_a_link: bool
) -> None:
    inside = root / ".venv/lib/python3/site-packages"
    elsewhere = tmp_path / "elsewhere"
    folder = elsewhere if through_a_link else inside
    install(folder)
    canary = plant(folder)
    if through_a_link:
        inside.parent.mkdir(parents=True)
        inside.symlink_to(elsewhere)
    monkeypatch.syspath_prepend(str(inside))
    refused(root, "the extension `acme-llmdo` lies inside the workspace")
    assert not canary.exists()


def test_nor_is_it_imported_for_a_past_revision(
    root: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = root / ".venv/lib/python3/site-packages"
    install(inside)
    canary = plant(inside)
    monkeypatch.syspath_prepend(str(inside))
    commit(root)
    assert llmdo(root, "diff", "HEAD..HEAD").returncode == 0
    assert not canary.exists()


def test_what_tools_may_work_on_is_no_place_for_an_extension_either(
    root: Path, packages: Path, policy: Path
) -> None:
    manifest = root / "llmdo.toml"
    manifest.write_text(
        manifest.read_text().replace('name = "bridge"', 'name = "bridge"  # of the other folder')
    )
    manifest.write_text(manifest.read_text().replace("\n[entries", 'root = "../packages"\n\n[entries'))
    refused(root, "the extension `acme-llmdo` lies inside the workspace")


def test_a_module_of_the_workspace_cannot_stand_in_for_it(
    root: Path, packages: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "acme_llmdo.py").write_text("raise SystemExit(9)\n")
    monkeypatch.syspath_prepend(str(root))
    refused(root, "the module `acme_llmdo` that the extension `acme-llmdo` names is not one of its own files")


def test_what_is_not_installed_is_told(root: Path, policy: Path) -> None:
    refused(root, "the extension `acme-llmdo` is not installed")


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ("", "the distribution `acme-llmdo` has no entry point in the group `llmdo.extension`"),
        ("a = acme_llmdo:EXTENSION\nb = acme_llmdo:EXTENSION", "has 2 entry points in the group"),
        (
            "a = json:loads",
            "the module `json` that the extension `acme-llmdo` names is not one of its own files",
        ),
    ],
)
def test_a_distribution_that_is_no_extension_is_told(
    root: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: str, sentence: str
) -> None:
    install(tmp_path / "packages", points=points)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    refused(root, sentence)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("EXTENSION = ", "EXTENSION = 1 or ", "is no `Extension`"),
        ("EXTENSION = ", "raise OSError('x')\nEXTENSION = ", "cannot be imported: OSError: x"),
        ('"ACME001"', '"LDO999"', "`LDO999` is not a code such as `ACME001`"),
        (
            "unsigned-prompt",
            "unknown-key",
            "`unknown-key` is not a name for a check, or is that of another one",
        ),
        ('"acme.bridge.send"', '"fs.send"', "`fs.send` is not a capability such as `acme.send`"),
        ('{"acme": Foreign', '{"codex": Foreign', "its format `codex` is there already, of `codex`"),
        (
            'name="acme",',
            'name="acme", commands={"run": "x"},',
            "its `commands` is for parts of llmdo itself",
        ),
    ],
)
def test_what_an_extension_may_not_say_is_told(
    root: Path, packages: Path, policy: Path, before: str, after: str, sentence: str
) -> None:
    package = packages / "acme_llmdo/__init__.py"
    package.write_text(package.read_text().replace(before, after))
    done = llmdo(root, "check")
    assert done.returncode == 2
    assert sentence in done.stdout


def test_a_check_of_an_extension_is_one_as_ours_are(root: Path, packages: Path, policy: Path) -> None:
    assert llmdo(root, "check", "--locked", "--strict").stdout == "no findings\n"
    worker = root / "workers/main.worker"
    worker.write_text(worker.read_text().replace("Team: harbour\n", ""))
    done = llmdo(root, "check")
    assert done.returncode == 1
    assert "error[ACME001]: the prompt of `main` names no team" in done.stdout
    finding = next(
        each
        for each in json.loads(llmdo(root, "check", "--format", "json").stdout)["findings"]
        if each["code"] == "ACME001"
    )
    assert finding["name"] == "unsigned-prompt"
    sarif = json.loads(llmdo(root, "check", "--format", "sarif").stdout)["runs"][0]
    (result,) = [each for each in sarif["results"] if each["ruleId"] == "ACME001"]
    assert sarif["tool"]["driver"]["rules"][result["ruleIndex"]]["name"] == "unsigned-prompt"
    for query in ("ACME001", "unsigned-prompt"):
        explained = llmdo(root, "explain", query).stdout
        assert explained.startswith(
            "ACME001 unsigned-prompt (error, of `acme`)\n\nThe prompt of a worker does not say"
        )
    assert llmdo(root, "run").returncode == 1
    with (root / "llmdo.toml").open("a") as manifest:
        manifest.write('[check]\nignore = ["ACME001"]\n')
    assert llmdo(root, "check").returncode == 0


def test_a_check_that_fails_is_told_and_exits_with_2(root: Path, packages: Path, policy: Path) -> None:
    rules = packages / "acme_llmdo/rules.py"
    rules.write_text(rules.read_text().replace("for name, prompt in", "1 / 0\n    for name, prompt in"))
    done = llmdo(root, "check")
    assert done.returncode == 2
    assert "the check `ACME001` of the extension `acme` failed: ZeroDivisionError" in done.stderr


def test_a_format_of_an_extension_is_read_as_ours_are(root: Path, packages: Path, policy: Path) -> None:
    crew = root / "crews"
    assert "acme: 1 agent in 1 file" in llmdo(root, "scan", "crews").stdout
    crew.joinpath("lookout.acme.json").write_text('{"name": "lookout", "tools": ["browse", "delte"]}')
    done = llmdo(root, "check", "--from", "acme", "crews")
    assert "Acme has no tool `delte`" in done.stdout
    assert "x.acme" not in done.stdout
    assert "net.connect" in llmdo(root, "reach", "--from", "acme", "crews").stdout
    assert "browse" in llmdo(root, "explain", "--from", "acme").stdout
    elsewhere = llmdo(root.parent, "check", "--from", "acme", "workspace/crews")
    assert elsewhere.returncode == 2
    assert "there is no format `acme`" in elsewhere.stderr


def test_an_evaluator_of_an_extension_judges(root: Path, packages: Path, policy: Path) -> None:
    pytest.importorskip("pydantic_evals")
    assert llmdo(root, "eval", "--approve-all").returncode == 0
    suite = root / "evals/manners.yaml"
    suite.write_text(suite.read_text().replace("polite", "polit"))
    done = llmdo(root, "eval", "--approve-all")
    assert done.returncode == 1
    assert "no extension of this workspace brings an evaluator `polit`" in done.stdout + done.stderr
    suite.write_text(suite.read_text().replace("polit", "polite"))
    models = root / "models.py"
    models.write_text(models.read_text().replace("Thank you. ", ""))
    llmdo(root, "lock")
    assert "polite" in llmdo(root, "eval", "--approve-all").stdout


def test_a_capability_of_an_extension_is_decided_by_in_check_reach_and_run(
    root: Path, packages: Path, policy: Path
) -> None:
    rows = [line.split()[:2] for line in llmdo(root, "reach", "main").stdout.splitlines()[2:]]
    assert rows == [["acme.bridge.look", "allowed"], ["acme.bridge.send", "needs_approval"]]
    asked = llmdo(root, "run")
    assert asked.returncode == 1
    assert 'acme.bridge.send" = "needs_approval" (extension `acme-llmdo`)' in asked.stdout
    assert 'add `"acme.bridge.send" = "allowed"` to [approvals.rules] in llmdo.toml' in asked.stderr
    assert "sent: we are in the harbour" in llmdo(root, "run", "--approve", "acme.bridge.send").stdout
    manifest = root / "llmdo.toml"
    text = manifest.read_text()
    manifest.write_text(f'{text}[approvals.rules]\n"acme.bridge" = "blocked"\n')
    assert "Unknown tool name: 'send'" in llmdo(root, "run", "--approve-all").stdout
    manifest.write_text(f'{text}[approvals.rules]\n"acme.bridge.sned" = "blocked"\n')
    assert "did you mean `acme.bridge.send`?" in llmdo(root, "check").stdout


@pytest.mark.parametrize(("preset", "asks"), [("strict", True), ("rule-of-two", False)])
def test_a_preset_takes_it_for_an_effect_unless_it_only_reads(
    root: Path, packages: Path, policy: Path, preset: str, asks: bool
) -> None:
    with (root / "llmdo.toml").open("a") as manifest:
        manifest.write(
            f'untrusted-input = true\n[approvals.rules]\n"acme.bridge" = "allowed"\n"acme.bridge.send" = "allowed"\n[flows]\npreset = "{preset}"\n'
        )
    done = llmdo(root, "run")
    assert ("needs approval" in done.stdout) is asks
    assert "`look`" not in done.stdout


def test_a_person_may_block_what_an_extension_brings(root: Path, packages: Path, policy: Path) -> None:
    policy.write_text(f'{LISTED}[approvals.rules]\n"acme.bridge.look" = "blocked"\n')
    assert "Unknown tool name: 'look'" in llmdo(root, "run", "--approve-all").stdout
    policy.write_text(f'{LISTED}[approvals.rules]\n"fs.wrte" = "blocked"\n')
    assert "`fs.wrte` is not a capability" in llmdo(root, "run").stderr
    policy.write_text('schema = 1\n[approvals.rules]\n"acme.bridge.look" = "blocked"\n')
    assert "`acme.bridge.look` is not a capability" in llmdo(root, "run").stderr


def test_a_policy_that_a_manifest_extends_lists_no_extension(
    root: Path, packages: Path, policy: Path
) -> None:
    policy.unlink()
    (root / "base.toml").write_text(LISTED)
    with (root / "llmdo.toml").open("a") as manifest:
        manifest.write('[policy]\nextends = ["base.toml"]\n')
    refused(root, "`extensions` is for a person's own policy")


def test_another_version_and_other_content_are_drift(
    root: Path, packages: Path, policy: Path, tmp_path: Path
) -> None:
    before = project.read(root).graph
    assert project.read(root).is_current
    with (packages / "acme_llmdo/rules.py").open("a") as module:
        module.write("# changed\n")
    done = llmdo(root, "check", "--locked")
    assert done.returncode == 1
    assert "out of date for extension `acme-llmdo`: its files changed" in done.stdout
    assert llmdo(root, "run", "--locked").returncode == 1
    unlocked = llmdo(root, "run")
    assert unlocked.returncode == 2
    assert "nothing runs: `llmdo lock` alone takes in the extension `acme-llmdo`" in unlocked.stderr
    facts = packages / "acme_llmdo-1.0.dist-info/METADATA"
    facts.write_text(facts.read_text().replace("Version: 1.0", "Version: 1.1"))
    assert "`version` is `1.1`, it was `1.0`" in llmdo(root, "check", "--locked").stdout
    after = project.read(root).graph
    assert {change.route for change in diff(before, after).changes} == {
        ("extension", "acme-llmdo", "digest"),
        ("extension", "acme-llmdo", "version"),
    }
    items = {item.key: item for item in Inventory.of(after).items}
    assert items["extension acme-llmdo"] not in Inventory.of(before).items
    assert "extension" not in EXECUTED


@pytest.mark.long
def test_the_example_is_installed_as_any_distribution_and_its_lock_is_current(
    root: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hatchling")
    shutil.copytree(SOURCES, tmp_path / "sources", ignore=shutil.ignore_patterns("__pycache__", "workspace"))
    words = ["install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--target"]
    subprocess.run(
        [sys.executable, "-m", "pip", *words, str(tmp_path / "site"), str(tmp_path / "sources")],
        check=True,
        capture_output=True,
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    try:
        assert llmdo(root, "check", "--locked", "--strict").stdout == "no findings\n"
        assert llmdo(root, "lock", "--check").returncode == 0
    finally:
        forget()
