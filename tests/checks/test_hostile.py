"""`check` on a repository that somebody made to harm: it runs nothing, leaves nothing, and ends soon in findings."""

from __future__ import annotations

import json
import os
import stat
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

import llmdo
from llmdo.syntax import discovery
from tests.support.hostile import MANIFEST, WORKER, Checked, check

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is hostile is made with Linux means")

MAX_PEAK = 100  # MiB
LOCK_PEAK = 200  # MiB: a lock may be eight times as large as any other file, and lists of TOML take 20 times their text

Build = Callable[[Path], object]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    root.mkdir()
    write(root, "llmdo.toml", MANIFEST)
    write(root, "main.worker", WORKER.format("main"))
    return root


def write(root: Path, path: str, content: str | bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(content.encode() if isinstance(content, str) else content)


def checked(root: Path, *words: str, before: str = "", seconds: float = 60, peak: int = MAX_PEAK) -> Checked:
    done = check(root, root.parent / "report.json", *words, before=before, seconds=seconds)
    assert "Traceback" not in done.err
    assert done.code in (0, 1, 2)
    assert done.peak < peak
    assert not [
        event for event, _ in done.events if event.partition(".")[0] in ("subprocess", "socket", "ctypes")
    ]
    return done


CANARY = "import pathlib\npathlib.Path({!r}).write_text('ran')\n"


def test_nothing_of_the_workspace_runs_and_nothing_outside_is_opened(root: Path) -> None:
    canary = root.parent / "canary"
    code = CANARY.format(str(canary))
    write(
        root,
        "tools/calc.py",
        f"{code}from pydantic_ai import FunctionToolset\nimport helper, json\ncalc = FunctionToolset()\n",
    )
    for path in (
        "helper.py",
        "models.py",
        "entries.py",
        "schemas.py",
        "json.py",
        "tomllib.py",
        "sitecustomize.py",
    ):
        write(root, path, f"{code}rules = Pitch = nightly = None\n")
    write(root, "llmdo/__init__.py", code)
    write(root, "conftest.py", code)
    write(root, ".git/config", "[core]\nfsmonitor = touch ../canary\n")
    write(
        root,
        "llmdo.toml",
        MANIFEST.replace('"test"', '"python:models.py:rules"').replace("**/*.py", "tools/*.py")
        + '[entries.nightly]\nfunction = "entries.py:nightly"\ncalls = ["main"]\n'
        + '[toolsets.other]\npython = "os.path:join"\n'
        + '[toolsets.server]\nmcp = { command = "touch", args = ["canary"] }\n'
        + '[paths]\n"a" = "/etc/passwd"\n"b/" = "../"\n',
    )
    write(
        root,
        "main.worker",
        "---\nname: main\nentry: true\ntoolsets: [calc, server]\nschema_in_ref: schemas.py:Pitch\n---\n",
    )
    done = checked(root)
    assert not canary.exists()
    assert done.code == 1
    own = [
        str(Path(place).resolve())
        for place in (*sysconfig.get_paths().values(), Path(llmdo.__file__).parent.parent)
    ]
    own += [sys.base_prefix, sys.prefix, str(root.parent / "home")]
    for event, argument in done.events:
        if event in ("open", "os.scandir", "os.listdir") and not argument.isdigit():
            where = os.path.normpath(root / argument)
            assert where.startswith((str(root), *own)), (event, argument)
        if event == "import":
            assert str(root) not in argument.partition(" ")[2], argument
        assert event not in (
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "os.fork",
            "os.remove",
            "os.symlink",
        ), event
    assert any(argument.endswith("tools/calc.py") for event, argument in done.events if event == "open")


def links(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    write(outside, "x.worker", WORKER.format("x"))
    (root / "file.worker").symlink_to(outside / "x.worker")
    (root / "gone.worker").symlink_to(root / "nowhere")
    (root / "self.worker").symlink_to("self.worker")
    (root / "mem.worker").symlink_to("/proc/self/mem")
    (root / "zero.worker").symlink_to("/dev/zero")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(".")
    (root / ".gitignore").symlink_to("/dev/zero")
    (root / "llmdo.lock").symlink_to("/dev/zero")


def test_links_are_findings_and_followed_nowhere(root: Path) -> None:
    links(root)
    globs = '["*.worker", "folder/*.worker", "folder/x.worker", "loop/main.worker", "../outside/*.worker", "/proc/**"]'
    write(root, "llmdo.toml", MANIFEST.replace('["**/*.worker"]', globs))
    done = checked(root)
    assert done.code == 1
    messages = [
        finding["message"] for finding in json.loads(done.out)["findings"] if finding["code"] == "LDO107"
    ]
    assert sum("is a link" in message for message in messages) == 8
    assert sum("through the link" in message for message in messages) == 2
    assert sum("leaves the workspace" in message for message in messages) == 2
    outside = (str(root.parent / "outside"), "/dev/zero", "/proc/self/mem")
    assert not [
        argument for event, argument in done.events if event == "open" and argument.startswith(outside)
    ]


def special(root: Path) -> None:
    os.mkfifo(root / "pipe.worker")
    os.mkfifo(root / "pipe.py")
    os.mkfifo(root / "llmdo.lock")
    os.mkfifo(root / ".gitignore")
    (root / "folder.worker").mkdir()
    if os.geteuid() == 0:
        os.mknod(root / "zero.worker", 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def sparse(root: Path) -> None:
    for name in ("a.worker", "a.py", "llmdo.lock", ".gitignore"):
        with (root / name).open("wb") as file:
            file.truncate(1 << 30)


def sparse_manifest(root: Path) -> None:
    with (root / "llmdo.toml").open("wb") as file:
        file.truncate(1 << 30)


def names(root: Path) -> None:
    for number, name in enumerate(
        [
            b"\xff",
            b"a\nb",
            b"a\x1b[31m",
            b"a:b",
            b"a[1]",
            b"a*b",
            b"a\\b",
            b"~a",
            b"a\x7f",
            "\u202eb".encode(),
        ]
    ):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name + b".worker")).write_text(
            WORKER.format(f"w{number}")
        )


def same_but_for_case(root: Path) -> None:
    for number, name in enumerate(["A", "a", "\u00e9", "e\u0301"]):
        write(root, f"{name}.worker", WORKER.format(f"w{number}"))


def deep_folders(root: Path) -> None:
    """Folders in each other to beyond the longest path that the system takes."""
    here = Path.cwd()
    os.chdir(root)
    for _ in range(30):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    os.chdir(here)


def manifest(text: str) -> Build:
    return lambda root: write(root, "llmdo.toml", MANIFEST + text)


def header(text: str) -> Build:
    return lambda root: write(root, "a.worker", f"---\nname: a\n{text}\n---\nGo.\n")


def module(text: str) -> Build:
    return lambda root: write(root, "a.py", text)


def lock(text: str) -> Build:
    return lambda root: write(root, "llmdo.lock", f"version = 1\nrevision = 1\n{text}")


DEEP = 10_000
LARGE = 250 * 1024
SETTINGS = '[settings]\nname = "w"\nbuilt-in-rules = 2\ndefault = "blocked"\nmax-depth = 5\n'
DIGEST = f'"sha256:{0:064}"'

HOSTILE: dict[str, tuple[Build, str]] = {
    "special files": (special, "LDO105"),
    "a gigabyte": (sparse, "LDO105"),
    "a manifest of a gigabyte": (sparse_manifest, "LDO105"),
    "names": (names, "LDO105"),
    "case": (same_but_for_case, "LDO108"),
    "deep folders": (deep_folders, "LDO105"),
    "toml arrays": (manifest("x = " + "[" * DEEP + "]" * DEEP), "LDO101"),
    "toml tables": (manifest("x = " + "{a=" * DEEP + "1" + "}" * DEEP), "LDO101"),
    "toml dotted": (manifest(".".join("a" * DEEP) + " = 1\n"), "LDO101"),
    "toml headers": (manifest("[" + ".".join("a" * DEEP) + "]\n"), "LDO101"),
    "toml digits": (manifest("x = " + "1" * LARGE), "LDO101"),
    "toml quotes": (manifest('x = """' + '""\\' * (LARGE // 3)), "LDO101"),
    "toml many tables": (manifest("".join(f"[a{n}]\n" for n in range(26_000))), "LDO102"),
    "toml many rules": (
        manifest("[approvals.rules]\n" + "".join(f'"fs.wrte{n}" = "blocked"\n' for n in range(8_500))),
        "LDO207",
    ),
    "toml many entries": (
        manifest("".join(f'[entries.e{n}]\nworker = "mian"\n' for n in range(7_500))),
        "LDO203",
    ),
    "toml many models": (
        manifest("[models]\n" + "".join(f'a{n} = "b{n}"\n' for n in range(13_000))),
        "LDO204",
    ),
    "toml control characters": (
        manifest('[entries."a\\u001b[31m"]\nworker = "a\\u0000b"\n[paths]\n"a\\u0000" = "b\\u202e"\n'),
        "LDO103",
    ),
    "many globs": (
        lambda root: write(
            root, "llmdo.toml", MANIFEST.replace('["**/*.worker"]', str([f"**/*{n}*" for n in range(9_000)]))
        ),
        "LDO103",
    ),
    "strange globs": (
        lambda root: write(
            root,
            "llmdo.toml",
            MANIFEST.replace('["**/*.worker"]', '["[z-a]*", "[a--b]*", "[[a]*", "[!]*", "[^]*", "[]*"]'),
        ),
        "LDO111",
    ),
    "slow globs": (
        lambda root: [
            write(root, "llmdo.toml", MANIFEST.replace("**/*.worker", "**/" + "*a" * 100 + "*b")),
            *(write(root, "a" * 240 + str(n), "") for n in range(200)),
        ],
        "LDO111",
    ),
    "slow ignoring": (lambda root: write(root, ".gitignore", "*a" * 100 + "\n"), "LDO105"),
    "much ignoring": (lambda root: write(root, ".gitignore", "a\n" * 30_000), "LDO105"),
    "yaml lists": (header("x: " + "[" * DEEP), "LDO101"),
    "yaml mappings": (header("x: " + "{a: " * DEEP), "LDO101"),
    "yaml items": (header("x:\n" + "- " * DEEP), "LDO101"),
    "yaml questions": (header("? " * DEEP), "LDO101"),
    "yaml bomb": (header("a: &a [x, x]\n" + "".join(f"k{n}: &k{n} [*a, *a]\n" for n in range(50))), "LDO101"),
    "yaml tags": (header('x: !!python/object/apply:os.system ["touch canary"]'), "LDO101"),
    "yaml many keys": (header("".join(f"a{n}: 1\n" for n in range(7_000))), "LDO101"),
    "yaml many uses": (header("toolsets:\n" + "".join(f"- a{n}\n" for n in range(4_900))), "LDO202"),
    "yaml control characters": (header('model: "python:a\\0.py:X"\ntoolsets: ["x\\u202E"]'), "LDO103"),
    "python brackets": (module("x = " + "(" * DEEP), "LDO101"),
    "python minus": (module("x = " + "-" * DEEP + "1"), "LDO101"),
    "python attributes": (module("x = a" + ".b" * DEEP), "LDO101"),
    "python sums": (module("x = 1" + "+1" * 300_000), "LDO101"),
    "python names": (module("a\n" * 400_000), "LDO101"),
    "python dotted": (module("import " + ".".join("a" * DEEP)), "LDO101"),
    "python branches": (module("if x: pass\n" + "elif x: pass\n" * DEEP), "LDO101"),
    "python null": (module("x = 1\0"), "LDO105"),
    "a lock of arrays": (lock("x = [" + "[]," * 2_000_000 + "]"), "LDO405"),
    "a lock of keys": (lock("".join(f"a{n} = 1\n" for n in range(400_000))), "LDO405"),
    "a lock of nesting": (lock("x = " + "[" * DEEP), "LDO405"),
    "a lock of workers": (
        lock(
            SETTINGS
            + "".join(
                f'\n[worker.a{n}]\npath = "a{n}.worker"\nconfig = {DIGEST}\nprompt = {DIGEST}\n'
                for n in range(20_000)
            )
        ),
        "LDO401",
    ),
}
"""What a repository may hold, and the code of the finding that says so."""


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name",
    [name if n % 4 == 0 else pytest.param(name, marks=pytest.mark.long) for n, name in enumerate(HOSTILE)],
)
def test_it_ends_in_a_finding_soon_and_in_little_memory(name: str, root: Path) -> None:
    build, code = HOSTILE[name]
    build(root)
    done = checked(root, peak=LOCK_PEAK if name.startswith("a lock") else MAX_PEAK)
    assert code in done.codes
    assert len(done.out) < 3_000_000
    for line in done.out.split("\n"):
        assert line.isprintable()


TOOLSETS = "from pydantic_ai import FunctionToolset\n" + "".join(
    f"t{n} = FunctionToolset()\n" for n in range(7_000)
)
LARGEST = {
    "names": "a\n" * 19_000,
    "lists": "x = [" + "[]," * 13_000 + "]",
    "functions": "def f(): 0\n" * 6_000,
    "signs": "-" * 50 + "a\n" * 19_000,
    "toolsets": TOOLSETS,
    "imports": "".join(f"import a{n}.b.c.d.e.f.g.h\n" for n in range(2_300)),
}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=() if name in ("signs", "toolsets") else pytest.mark.long)
        for name, text in LARGEST.items()
    ],
)
def test_a_module_of_the_largest_size_stays_within_bounds(text: str, root: Path) -> None:
    write(root, "a.py", text)
    checked(root)


@pytest.mark.parametrize(
    "count",
    [
        4_000,
        pytest.param(20_000, marks=pytest.mark.long),
        pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(300)]),
    ],
)
@pytest.mark.parametrize(
    "suffix", [".worker", *(pytest.param(suffix, marks=pytest.mark.long) for suffix in (".txt", ".py"))]
)
def test_a_folder_of_many_files_is_checked_in_time(count: int, suffix: str, root: Path) -> None:
    if count > 20_000 and suffix != ".txt":
        pytest.skip("so many workers are no attack but a large workspace")
    (root / "many").mkdir()
    for number in range(count):
        (root / "many" / f"w{number}{suffix}").write_text(WORKER.format(f"w{number}"), encoding="utf-8")
    done = checked(root, seconds=60)
    assert ("LDO101" in done.codes) == (suffix == ".py")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_more_files_than_any_workspace_has_are_a_finding(root: Path) -> None:
    (root / "many").mkdir()
    for number in range(discovery.MAX_ENTRIES):
        (root / "many" / f"f{number}").touch()
    done = checked(root, seconds=60)
    assert "has more than 200,000 files and folders" in done.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_a_finding(root: Path) -> None:
    (root / "secret").mkdir(mode=0)
    try:
        assert "`secret` cannot be read" in checked(root).out
    finally:
        (root / "secret").chmod(0o700)


SWAP = """
import os, sys
done = []
def swap(event, arguments):
    if event == "open" and os.path.basename(str(arguments[0])) == {name!r} and not done:
        done.append(1)
        {act}
sys.addaudithook(swap)
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "act",
    [
        "os.unlink({path!r}); os.mkfifo({path!r})",
        "os.unlink({path!r}); os.symlink('/etc/passwd', {path!r})",
        "os.unlink({path!r}); os.mkdir({path!r})",
        "os.unlink({path!r})",
    ],
    ids=["pipe", "link", "folder", "nothing"],
)
@pytest.mark.parametrize("name", ["main.worker", pytest.param("a.py", marks=pytest.mark.long)])
def test_a_file_that_changes_between_listing_and_opening_is_a_finding(
    act: str, name: str, root: Path
) -> None:
    write(root, "a.py", "x = 1\n")
    done = checked(root, before=SWAP.format(name=name, act=act.format(path=str(root / name))))
    assert done.codes & {"LDO105", "LDO106", "LDO107"}
    assert "root:" not in done.out


@pytest.mark.long
@pytest.mark.parametrize("name", ["llmdo.toml", "main.worker", "llmdo.lock"])
def test_a_workspace_that_is_removed_meanwhile_ends_in_findings_or_a_clean_error(
    name: str, root: Path
) -> None:
    write(root, "llmdo.lock", "version = 1\n")
    before = SWAP.format(name=name, act=f"import shutil; shutil.rmtree({str(root)!r})")
    done = check(root, root.parent / "report.json", before=before)
    assert "Traceback" not in done.err
    assert done.code in (1, 2)
    assert json.loads(done.out)["status"] in ("findings", "error")


def test_a_manifest_that_is_no_file_is_a_clean_error(root: Path) -> None:
    (root / "llmdo.toml").unlink()
    os.mkfifo(root / "llmdo.toml")
    done = checked(root)
    assert done.code == 2
    assert json.loads(done.out)["status"] == "error"
