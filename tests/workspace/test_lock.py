"""The lock: the same bytes everywhere, compared by meaning, replaced whole or not at all."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.source import Source
from llmdo.services import locking
from llmdo.syntax import toml
from llmdo.workspace import lock, project
from llmdo.workspace.lock.layout import layout

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["workers/*.worker"]
toolset-modules = ["tools/*.py"]
model = "python:models.py:rules"
max-depth = 3

[models]
fast = ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"]

[toolsets.calc]
python = "tools/calc.py:calc_tools"
capabilities = { factorial = ["x.calc.cpu"], "*" = [] }

[approvals]
default = "blocked"
[approvals.rules]
"fs.write:reports/**" = "allowed"
"x.calc.cpu" = "allowed"

[paths]
"decks/" = "input/"

[entries.go]
worker = "main"
input = "Say \\"hello\\"\\n\\tand \\\\ more."
may = []
limits = { requests = 3, cost-usd = 0.5 }
approvals = { "net" = "blocked" }

[entries.code]
function = "entries.py:nightly"
calls = ["main", "other"]

[[check.accept]]
code = "LDO510"
entry = "go"
reason = "ours"
"""

FILES = {
    "llmdo.toml": MANIFEST,
    "models.py": "def rules(): ...\n",
    "entries.py": "import shared\n\n\nasync def nightly(runtime, input): ...\n",
    "shared.py": "VALUE = 1\n",
    "input/deck.md": "# Deck\n",
    "tools/calc.py": (
        "from pydantic_ai.toolsets import FunctionToolset\n\ncalc_tools = FunctionToolset()\n\n\n"
        "@calc_tools.tool_plain\ndef factorial(n: int) -> int:\n    return n\n\n\n"
        '@calc_tools.tool_plain(metadata={"capabilities": []})\ndef harmless() -> int:\n    return 1\n'
    ),
    "tools/plain.py": "VALUE = 1\n",
    "workers/main.worker": (
        "---\nname: main\ndescription: Größe\nmodel: fast\nmay: []\ntoolsets:\n  filesystem: {read: [input/**]}\n"
        "  calc: {}\n  other: {}\napprovals: {fs.list: blocked}\nattachments: {max: 0, suffixes: []}\n---\nGo.\n"
    ),
    "workers/other.worker": (
        "---\nname: other\nentry: true\nrecursive: true\ncompatible_models: ['openai:*']\ntoolsets: [other]\n---\nGo.\n"
    ),
}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("locked")
    write_files(root, FILES)
    lock.write(root, locking.derive(project.read(root)))
    return root


def write_files(root: Path, files: dict[str, str], *, newline: str = "\n") -> None:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline=newline)


@pytest.mark.long
def test_a_lock_is_current_right_after_it_was_written(locked: Path) -> None:
    assert project.read(locked).is_current


def test_a_lock_survives_a_round_trip(locked: Path) -> None:
    graph = project.read(locked).graph
    text = lock.dump(graph)
    again = lock.read(Source("llmdo.lock", text))
    assert again.problems == ()
    assert again.graph == graph
    assert lock.dump(again.graph) == text


def test_acceptances_in_any_order_are_current(tmp_path: Path) -> None:
    accepted = "".join(
        f'\n[[check.accept]]\ncapability = "{name}"\nreason = "r"\n' for name in ("net", "fs.read")
    )
    write_files(tmp_path, {"llmdo.toml": f'schema = 1\n[workspace]\nname = "w"\n{accepted}'})
    lock.write(tmp_path, project.read(tmp_path).graph)
    assert project.read(tmp_path).is_current


def test_an_empty_ceiling_is_not_an_absent_one(locked: Path) -> None:
    graph = lock.read(Source("llmdo.lock", (locked / "llmdo.lock").read_text(encoding="utf-8"))).graph
    assert graph is not None
    assert graph.entries["go"].may == ()
    assert graph.entries["code"].may is None
    assert graph.workers["main"].may == ()
    assert graph.toolsets["calc"].tools["harmless"].metadata == ()
    assert graph.toolsets["calc"].tools["factorial"].metadata is None


def test_a_second_lock_from_another_folder_and_files_in_another_order_is_byte_identical(
    locked: Path, tmp_path: Path
) -> None:
    names = list(FILES)
    random.Random(3).shuffle(names)
    other = tmp_path / "elsewhere" / "with spaces"
    other.mkdir(parents=True)
    write_files(other, {name: FILES[name] for name in names}, newline="\r\n")
    lock.write(other, locking.derive(project.read(other)))
    assert (other / "llmdo.lock").read_bytes() == (locked / "llmdo.lock").read_bytes()


@pytest.mark.long
def test_neither_hash_seed_nor_locale_nor_umask_changes_a_byte(locked: Path, tmp_path: Path) -> None:
    other = tmp_path / "w"
    write_files(other, FILES)
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    command = f"umask 077; exec {sys.executable} -m llmdo lock"
    subprocess.run(["sh", "-c", command], cwd=other, env=environment, check=True, capture_output=True)
    assert (other / "llmdo.lock").read_bytes() == (locked / "llmdo.lock").read_bytes()


def test_an_odd_layout_means_the_same(locked: Path) -> None:
    text = (locked / "llmdo.lock").read_text(encoding="utf-8")
    blocks = text.split("\n\n")
    reordered = "\r\n\r\n".join([blocks[0], *reversed(blocks[1:])])
    read = lock.read(Source("llmdo.lock", reordered.replace("\r\n", "\n")))
    assert read.graph == project.read(locked).graph


def test_the_lock_holds_no_absolute_path_and_no_secret(locked: Path) -> None:
    text = (locked / "llmdo.lock").read_text(encoding="utf-8")
    assert str(locked) not in text
    assert os.environ.get("HOME", "/nowhere") not in text


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        ("workers/main.worker", "Go.", "Go on.", "its prompt changed"),
        ("workers/main.worker", "description: Größe", "description: Maß", "its description changed"),
        ("workers/main.worker", "read: [input/**]", "read: [input/**, b]", "filesystem: `read` +`b`"),
        ("workers/main.worker", "  calc: {}\n", "", "`toolsets` -`calc`"),
        ("workers/other.worker", "recursive: true\n", "", "`recursive` is gone"),
        ("llmdo.toml", "max-depth = 3", "max-depth = 4", "`max-depth` is `4`, it was `3`"),
        (
            "llmdo.toml",
            "max-depth = 3",
            'max-depth = 3\non-truncated = "error"',
            "`on-truncated` is now `error`",
        ),
        ("llmdo.toml", '"x.calc.cpu" = "allowed"', '"x.calc.cpu" = "blocked"', "`x.calc.cpu` is `blocked`"),
        (
            "llmdo.toml",
            'factorial = ["x.calc.cpu"]',
            "factorial = []",
            "tool `factorial` changed its capabilities",
        ),
        ("llmdo.toml", "requests = 3", "requests = 4", "limits: `requests` is `4`"),
        ("llmdo.toml", 'reason = "ours"', 'reason = "theirs"', "the acceptances changed"),
        ("tools/calc.py", "return n", "return n + 1", "its source changed"),
        ("shared.py", "VALUE = 1", "VALUE = 2", "its source changed"),
        ("models.py", "...", "pass", "its source changed"),
    ],
)
def test_drift_says_what_changed(
    locked: Path, tmp_path: Path, path: str, old: str, new: str, words: str
) -> None:
    root = tmp_path / "w"
    shutil.copytree(locked, root)
    text = (root / path).read_text(encoding="utf-8")
    changed = text.replace(old, new)
    assert changed != text
    (root / path).write_text(changed, encoding="utf-8")
    read = project.read(root)
    assert not read.is_current
    drifted = lock.drift(read.locked.graph, read.graph)
    assert any(words in change for item in drifted for change in item.changes)


def test_touching_or_reformatting_a_file_is_no_drift(locked: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    shutil.copytree(locked, root)
    worker = root / "workers/main.worker"
    text = worker.read_text(encoding="utf-8")
    text = text.replace(
        "toolsets:\n  filesystem: {read: [input/**]}\n  calc: {}\n",
        "toolsets:\n  calc: {}\n  filesystem:\n    read:\n      - input/**\n",
    )
    worker.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    os.utime(worker, (1, 1))
    assert project.read(root).is_current


def test_relocking_after_an_edit_of_a_prompt_starts_no_process(
    locked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "w"
    shutil.copytree(locked, root)
    (root / "workers/main.worker").write_text(FILES["workers/main.worker"] + "More.\n", encoding="utf-8")
    monkeypatch.setattr(subprocess, "Popen", None)
    derived = locking.derive(project.read(root))
    assert derived.workers["main"].prompt != project.read(locked).graph.workers["main"].prompt
    assert derived.toolsets == project.read(locked).graph.toolsets


def test_what_is_known_of_an_installed_toolset_stands_in_the_lock_and_is_found_out_anew(
    tmp_path: Path,
) -> None:
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\n[toolsets.empty]\npython = "pydantic_ai:FunctionToolset"\n',
        encoding="utf-8",
    )
    lock.write(tmp_path, locking.derive(project.read(tmp_path)))
    read = project.read(tmp_path)
    assert read.is_current
    assert read.graph.toolsets["empty"].is_class
    path = tmp_path / "llmdo.lock"
    path.write_text(path.read_text(encoding="utf-8").replace("class = true\n", ""), encoding="utf-8")
    read = project.read(tmp_path)
    assert not locking.derive(read).toolsets["empty"].is_class, "a run believes the lock"
    assert locking.derive(read, installed=True).toolsets["empty"].is_class
    assert locking.derive_with_servers(read).graph.toolsets["empty"].is_class


def test_a_hand_edited_fact_is_found_by_deriving_anew(locked: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    shutil.copytree(locked, root)
    path = root / "llmdo.lock"
    path.write_text(path.read_text(encoding="utf-8").replace("metadata = []\n", ""), encoding="utf-8")
    read = project.read(root)
    assert locking.derive(read, anew=True) != read.locked.graph


def test_a_lock_is_replaced_whole_or_not_at_all(locked: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    shutil.copytree(locked, root)
    before = (root / "llmdo.lock").read_bytes()
    script = (
        "import resource, sys\nfrom pathlib import Path\nfrom llmdo.workspace import lock, project\n"
        "root = Path(sys.argv[1])\ngraph = project.read(root).graph\n"
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nlock.write(root, graph)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(root)], capture_output=True, text=True)
    assert "cannot write `llmdo.lock`" in done.stderr
    assert (root / "llmdo.lock").read_bytes() == before
    assert not [path for path in root.iterdir() if path.name.startswith(".llmdo.lock")]


def test_a_lock_that_is_a_link_is_not_written_through(locked: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    shutil.copytree(locked, root)
    outside = tmp_path / "outside"
    outside.write_text("mine", encoding="utf-8")
    (root / "llmdo.lock").unlink()
    (root / "llmdo.lock").symlink_to(outside)
    with pytest.raises(LlmdoError, match="is a link"):
        lock.write(root, project.read(root).graph)
    assert outside.read_text(encoding="utf-8") == "mine"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(deadline=None)
@given(
    st.dictionaries(
        texts,
        st.one_of(texts, st.booleans(), st.integers(-(2**60), 2**60), st.lists(texts, max_size=3))
        | st.dictionaries(texts, texts, min_size=1, max_size=3),
        max_size=5,
    )
)
def test_the_layout_is_toml_that_means_what_went_in(table) -> None:
    plain = {f"k{key}": value for key, value in table.items()}
    document = toml.parse(Source("x", layout({"t": plain}).replace("\r\n", "\n")))
    assert document.problems == ()
    assert document.data.get("t", {}) == plain
