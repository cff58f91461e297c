"""What `suggest` prints, pasted into the manifest as it is: `check` has nothing to say about it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support import commands

MANIFEST = 'schema = 1\n\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n'
TOOLS = """\
from pydantic_ai.toolsets import FunctionToolset

kit = FunctionToolset()


@kit.tool_plain(metadata={{"capabilities": {capabilities}}})
def act(path: str) -> str:
    return path
"""


def worker(name: str, toolsets: str, more: str = "") -> tuple[str, str]:
    return f"{name}.worker", f"---\nname: {name}\ntoolsets: {toolsets}\n{more}---\nGo.\n"


def kit(*capabilities: str) -> dict[str, str]:
    manifest = MANIFEST.replace(
        'workers = ["*.worker"]', 'workers = ["*.worker"]\ntoolset-modules = ["tools.py"]'
    )
    return {
        "llmdo.toml": f'{manifest}\n[entries.go]\nworker = "main"\n',
        "tools.py": TOOLS.format(capabilities=json.dumps(capabilities)),
    }


FILES = '{filesystem: {read: ["**"], write: ["out/**", "in/a.md"]}}'
CASES = {
    "files": {
        "llmdo.toml": f'{MANIFEST}\n[entries.go]\nworker = "main"\n',
        **dict([worker("main", FILES)]),
    },
    "files-and-rules-within": {
        "llmdo.toml": f'{MANIFEST}\n[approvals.rules]\n"fs.write:out/a/**" = "blocked"\n"fs.write:out" = "needs_approval"\n'
        '"fs.read:out/**" = "needs_approval"\n\n[entries.go]\nworker = "main"\n',
        **dict([worker("main", FILES)]),
    },
    "attachments": {
        "llmdo.toml": f'{MANIFEST}\n[paths]\n"decks/" = "in/"\n".env" = "in/secret"\n\n[entries.go]\nworker = "main"\n',
        "in/secret": "",
        **dict([worker("main", "[reader]"), worker("reader", "{}")]),
    },
    "shell-by-a-delegate": {
        "llmdo.toml": f'{MANIFEST}\n[entries.go]\nworker = "main"\n\n[entries.other]\nworker = "builder"\n',
        **dict([worker("main", "[builder]"), worker("builder", "[shell]")]),
    },
    "a-ceiling-below": {
        "llmdo.toml": f'{MANIFEST}\n[entries.go]\nworker = "main"\n',
        **dict([worker("main", "[reader]"), worker("reader", FILES, 'may: ["fs.read:in/**"]\n')]),
    },
    "own-capabilities": {**kit("x.kit.pay", "net.connect", "env.read"), **dict([worker("main", "[kit]")])},
    "protected-everywhere": {**kit("fs.write.protected"), **dict([worker("main", "[kit]")])},
    "a-whole-family": {**kit("fs.write", "proc.exec"), **dict([worker("main", "[kit]")])},
    "an-entry-by-its-worker": {
        "llmdo.toml": MANIFEST,
        **dict([worker("main", "[writer]", "entry: true\n"), worker("writer", FILES)]),
    },
    "nothing": {
        "llmdo.toml": f'{MANIFEST}\n[entries.go]\nworker = "main"\n',
        **dict([worker("main", "{}")]),
    },
}


def pasted(manifest: str, printed: str) -> str:
    """The manifest with what is printed: the keys of each table under its heading, a new table at the end."""
    for heading, lines in re.findall(r"^(\[.+\])\n((?:(?!\[|#|$).*\n)*)", printed, re.MULTILINE):
        is_item = heading.startswith("[[")
        known = None if is_item else re.search(rf"^{re.escape(heading)}.*\n", manifest, re.MULTILINE)
        at = known.end() if known else len(manifest)
        new = lines if known else f"\n{heading}\n{lines}"
        manifest = manifest[:at] + new + manifest[at:]
    return manifest


def findings(root: Path) -> list[tuple[str, str]]:
    done = commands.llmdo(root, "check", "--format", "json", "--no-cache")
    all_findings = [(each["code"], each["message"]) for each in json.loads(done.stdout)["findings"]]
    return [each for each in all_findings if each[0] != "LDO402"]  # that there is no lock


def assert_that_check_accepts_it(root: Path) -> None:
    before = findings(root)
    assert not [code for code, _ in before if code.startswith("LDO1")]
    printed = commands.llmdo(root, "suggest").stdout
    manifest = root / "llmdo.toml"
    manifest.write_text(pasted(manifest.read_text(encoding="utf-8"), printed), encoding="utf-8")
    after = findings(root)
    assert set(after) <= set(before), printed
    assert "LDO502" not in dict(after), printed  # what a delegate adds is inside the ceiling
    assert "\nmay = [" in manifest.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_check_accepts_what_suggest_prints(case: str, tmp_path: Path) -> None:
    for path, text in CASES[case].items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert_that_check_accepts_it(tmp_path)


EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/llmdo.toml"))


@pytest.mark.few(4)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_check_accepts_what_suggest_prints_for_an_example(example: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(example, root, ignore=shutil.ignore_patterns("llmdo.lock", ".llmdo"))
    manifest = root / "llmdo.toml"
    text = re.sub(
        r"^may = (?:\[\n(?: .*\n)*\]|.*)\n", "", manifest.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    manifest.write_text(text, encoding="utf-8")
    assert_that_check_accepts_it(root)


def test_what_rests_on_declarations_counts_no_runs(tmp_path: Path) -> None:
    for name, text in CASES["files"].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = commands.llmdo(tmp_path, "suggest", "go")
    assert done.returncode == 0
    assert " run" not in done.stdout
