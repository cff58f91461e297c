"""Files of the workspace: what is refused, what a race cannot do, and what a write leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from llmdo.toolsets.confinement import Root
from llmdo.toolsets.folders import FOLDER_FLAGS, DescriptorFolder, PathFolder, open_folder
from llmdo.toolsets.paths import MAX_DEPTH, PathRefused

LIMIT = 1_000_000


def opened(kind: str, path: Path) -> Root:
    if kind == "portable":
        return Root(PathFolder(path.resolve()))
    if kind == "openat2":
        root = Root.open(path)
        if not root.folder._beneath:
            pytest.skip("this kernel or sandbox has no openat2")
        return root
    return Root(DescriptorFolder(os.open(path, FOLDER_FLAGS), beneath=False))


@pytest.fixture(params=["openat2", "walk", "portable"])
def root(request, tmp_path):
    """A workspace beside a secret, opened in each of the ways that a system can have."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("canary")
    workspace = tmp_path / "workspace"
    (workspace / "input/deep").mkdir(parents=True)
    (workspace / "input/a.txt").write_text("inside")
    with opened(request.param, workspace) as root:
        yield root


@pytest.fixture
def workspace(tmp_path):
    return tmp_path / "workspace"


def refusal_of(use) -> str:
    try:
        use()
    except PathRefused as refused:
        return str(refused)
    return ""


def descriptors() -> set[int]:
    """The open ones of this process."""
    opened = set()
    for number in range(256):
        with suppress(OSError):
            os.fstat(number)
            opened.add(number)
    return opened


def plant(workspace: Path) -> None:
    """Everything in a folder that is not what it seems."""
    outside = workspace.parent / "outside"
    (workspace / "link.txt").symlink_to(outside / "secret.txt")
    (workspace / "relative.txt").symlink_to("../outside/secret.txt")
    (workspace / "inner.txt").symlink_to("input/a.txt")
    (workspace / "dangling.txt").symlink_to(outside / "new.txt")
    (workspace / "folder").symlink_to(outside)
    (workspace / "loop").symlink_to("loop")
    (workspace / "self").symlink_to(".")
    (workspace / "magic").symlink_to("/proc/self/root")
    (workspace / "hard.txt").hardlink_to(outside / "secret.txt")
    os.mkfifo(workspace / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(workspace)  # the path of a socket has a hundred bytes at most
        server.bind("socket")
        os.chdir(here)


HOSTILE_TEXT = [
    "",
    ".",
    "/",
    "./",
    "..",
    "../outside/secret.txt",
    "input/../../outside/secret.txt",
    "input/deep/../../../outside/secret.txt",
    "./../outside/secret.txt",
    "input/..",
    "/etc/passwd",
    "//etc/passwd",
    "~/secret.txt",
    "~root/secret.txt",
    ".//~/secret.txt",
    "input/a.txt\0.md",
    "\0",
    "input/a\n.txt",
    "input/\x7f",
    "a" * 5000,
    "a/" * 2000 + "a",
    "é" * 2500,
    "\ud800",
    "x" * 300,
]
HOSTILE_FILES = [
    "link.txt",
    "relative.txt",
    "inner.txt",
    "dangling.txt",
    "folder/secret.txt",
    "folder",
    "loop",
    "self/input/a.txt",
    "magic/etc/passwd",
    "hard.txt",
    "fifo",
    "socket",
    "input",
    "input/a.txt/b",
]


@pytest.mark.few(37)
@pytest.mark.parametrize("path", HOSTILE_TEXT, ids=ascii)
def test_a_hostile_path_is_refused_for_reading_and_writing(root, workspace, path):
    before = sorted(workspace.rglob("*"))
    with pytest.raises(PathRefused):
        root.read(path, LIMIT)
    with pytest.raises(PathRefused):
        root.write_atomic(path, b"x")
    assert sorted(workspace.rglob("*")) == before


@pytest.mark.few(17)
@pytest.mark.parametrize("path", HOSTILE_FILES)
def test_what_is_not_a_plain_file_is_refused_for_reading_and_writing(root, workspace, path):
    plant(workspace)
    before = sorted(workspace.parent.rglob("*"))
    with pytest.raises(PathRefused):
        root.read(path, LIMIT)
    with pytest.raises(PathRefused):
        root.write_atomic(path, b"x")
    assert sorted(workspace.parent.rglob("*")) == before
    assert (workspace.parent / "outside/secret.txt").read_text() == "canary"


@pytest.mark.few(31)
@pytest.mark.parametrize("path", [*HOSTILE_TEXT, *HOSTILE_FILES, "missing.txt", "no/such/folder"])
def test_a_refusal_never_shows_where_the_workspace_is(root, workspace, path):
    plant(workspace)
    for use in (lambda: root.read(path, LIMIT), lambda: root.list_files(path, "*")):
        refusal = refusal_of(use)
        assert str(workspace) not in refusal
        assert len(refusal) < 1000
        assert refusal.isprintable()


def test_a_device_is_refused(root, workspace):
    try:
        os.mknod(workspace / "null", 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root may make a device")
    with pytest.raises(PathRefused, match="not a regular file"):
        root.read("null", LIMIT)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../x", "`../x` has a `..`: give the path as seen from the workspace, without `..`"),
        ("missing.txt", "`missing.txt` does not exist: list the folder to see what is there"),
        ("input", "`input` is a folder: give the path of a file"),
        ("hard.txt", "`hard.txt` is a hard link, perhaps to a file elsewhere: copy the file instead"),
        ("a\tb", "`a\\tb` has a control character: give a path without one"),
    ],
)
def test_a_refusal_says_what_to_do(root, workspace, path, message):
    plant(workspace)
    with pytest.raises(PathRefused) as refused:
        root.read(path, LIMIT)
    assert str(refused.value) == message


def test_a_file_is_read_by_any_spelling_of_its_path(root):
    assert root.read("input/a.txt", LIMIT) == b"inside"
    assert root.read("./input//./a.txt", LIMIT) == b"inside"


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_refused(root, workspace):
    (workspace / "full").write_bytes(b"x" * 100)
    assert len(root.read("full", 100)) == 100
    with pytest.raises(PathRefused, match="larger than 99 bytes"):
        root.read("full", 99)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file of unknown size")
def test_a_file_that_says_it_is_empty_is_still_capped():
    process = Path(f"/proc/{os.getpid()}")
    assert (process / "status").stat().st_size == 0
    with opened("walk", process) as root, pytest.raises(PathRefused, match="larger than 10 bytes"):
        root.read("status", 10)


def test_a_huge_sparse_file_is_refused_without_being_read(root, workspace):
    with (workspace / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PathRefused, match="larger than"):
        root.read("huge", LIMIT)


def test_a_write_creates_folders_and_says_what_it_did(root, workspace):
    assert root.write_atomic("reports/2025/a.md", b"one") == "created"
    assert root.write_atomic("reports/2025/a.md", b"two") == "replaced"
    assert (workspace / "reports/2025/a.md").read_bytes() == b"two"
    assert [path.name for path in (workspace / "reports/2025").iterdir()] == ["a.md"]


def test_a_replaced_file_keeps_its_permissions_but_no_special_bits(root, workspace):
    script = workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o4750)
    root.write_atomic("run.sh", b"new")
    assert script.stat().st_mode & 0o7777 == 0o750


def test_a_reader_of_a_replaced_file_keeps_the_old_content(root, workspace):
    with (workspace / "input/a.txt").open() as reader:
        root.write_atomic("input/a.txt", b"new")
        assert reader.read() == "inside"


def test_a_write_below_a_file_is_refused(root, workspace):
    with pytest.raises(PathRefused, match="leads through a link or a file"):
        root.write_atomic("input/a.txt/b/c", b"x")
    assert (workspace / "input/a.txt").read_text() == "inside"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(root, workspace, monkeypatch, error):
    def interrupted(_descriptor):
        raise error

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises((KeyboardInterrupt, PathRefused)):
        root.write_atomic("input/a.txt", b"new")
    assert [path.name for path in (workspace / "input").iterdir() if path.is_file()] == ["a.txt"]
    assert (workspace / "input/a.txt").read_text() == "inside"


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    program = """
import resource, sys
from pathlib import Path
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.paths import PathRefused
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
with Root.open(Path(sys.argv[1])) as root:
    try:
        root.write_atomic("a.txt", b"x" * 100_000)
    except PathRefused as refused:
        print(refused)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, timeout=20
    )
    assert done.stdout == "`a.txt` cannot be written: it is too large\n", done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_closed_root_opens_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    root = Root.open(tmp_path)
    root.close()
    root.close()
    with pytest.raises(PathRefused):
        root.read("a.txt", LIMIT)


def test_the_workspace_may_be_reached_through_a_link_of_ours(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_text("x")
    (tmp_path / "link").symlink_to("real")
    with Root.open(tmp_path / "link") as root:
        assert root.read("a.txt", LIMIT) == b"x"


def test_a_workspace_that_is_moved_stays_the_workspace(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/a.txt").write_text("mine")
    with Root.open(tmp_path / "one") as root:
        (tmp_path / "one").rename(tmp_path / "two")
        (tmp_path / "one").mkdir()
        (tmp_path / "one/a.txt").write_text("other")
        assert root.read("a.txt", LIMIT) == b"mine"


def test_no_descriptor_stays_open(root, workspace):
    plant(workspace)
    before = descriptors()
    for path in [*HOSTILE_FILES, "missing", "input/a.txt"]:
        for use in (
            lambda path=path: root.read(path, LIMIT),
            lambda path=path: root.write_atomic(f"{path}/x", b""),
            lambda path=path: root.list_files(path),
        ):
            refusal_of(use)
    assert descriptors() == before


SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
rename = ctypes.CDLL(None, use_errno=True).renameat2
print("ready", flush=True)
while True:
    for one, other in ((b"workspace/swap", b"folder-link"), (b"workspace/swap.txt", b"file-link")):
        rename(-100, one, -100, other, 2)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs an atomic exchange of names")
@pytest.mark.parametrize("kind", ["openat2", "walk"])
def test_a_swap_race_never_leads_outside(tmp_path, kind):
    outside = tmp_path / "outside"
    workspace = tmp_path / "workspace"
    outside.mkdir()
    (workspace / "swap").mkdir(parents=True)
    for folder, text in ((outside, "canary"), (workspace / "swap", "inside")):
        (folder / "a.txt").write_text(text)
    (workspace / "swap.txt").write_text("inside")
    (tmp_path / "folder-link").symlink_to(outside)
    (tmp_path / "file-link").symlink_to(outside / "a.txt")
    before = sorted(outside.iterdir())
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, tmp_path], stdout=subprocess.PIPE)
    try:
        assert swapper.stdout.readline() == b"ready\n"
        seen = {"read": 0, "refused": 0, "written": 0}
        start = time.monotonic()
        with opened(kind, workspace) as root:
            while time.monotonic() - start < (0.8 if all(seen.values()) else 20):
                for path in ("swap/a.txt", "swap.txt"):
                    try:
                        assert root.read(path, LIMIT) == b"inside"
                        seen["read"] += 1
                    except PathRefused:
                        seen["refused"] += 1
                try:
                    root.write_atomic("swap/new.txt", b"x")
                    seen["written"] += 1
                except PathRefused:
                    seen["refused"] += 1
                assert not any("canary" in path for path in root.list_files().paths)
    finally:
        os.kill(swapper.pid, signal.SIGKILL)
        swapper.communicate()
    assert all(seen.values()), seen
    assert sorted(outside.iterdir()) == before
    assert (outside / "a.txt").read_text() == "canary"


def test_a_listing_names_plain_files_in_order_and_counts_the_rest(root, workspace):
    plant(workspace)
    (workspace / "input/deep/b.md").write_text("")
    (workspace / "bad\nname").write_text("")
    listing = root.list_files()
    assert listing.paths == ("hard.txt", "input/a.txt", "input/deep/b.md")
    assert listing.skipped == 11
    assert not listing.cut


def test_a_listing_never_enters_a_link(root, workspace):
    plant(workspace)
    assert root.list_files(pattern="folder/*").paths == ()
    with pytest.raises(PathRefused, match="llmdo follows no link"):
        root.list_files("folder")
    with pytest.raises(PathRefused, match="llmdo follows no link"):
        root.list_files("magic/etc")


def test_a_listing_of_a_folder_is_in_terms_of_the_workspace(root, workspace):
    (workspace / "input/deep/b.md").write_text("")
    assert root.list_files("input").paths == ("input/a.txt", "input/deep/b.md")
    assert root.list_files("./input/", "*").paths == ("input/a.txt",)
    assert root.list_files("input/deep", "*.md").paths == ("input/deep/b.md",)


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "~/*", "", ".", "a/../../*", "\0", "*/" * 100 + "*"])
def test_a_pattern_that_could_leave_is_refused(root, pattern):
    with pytest.raises(PathRefused):
        root.list_files(".", pattern)


def test_a_listing_keeps_to_its_scopes_and_never_looks_elsewhere(root, workspace):
    (workspace / "private").mkdir()
    (workspace / "private/x.txt").write_text("")
    (workspace / "input/deep/b.md").write_text("")
    (workspace / "private").chmod(0)
    listing = root.list_files(within=("input/deep/**", "input/a.txt"))
    assert listing.paths == ("input/a.txt", "input/deep/b.md")
    assert listing.skipped == 0
    (workspace / "private").chmod(0o700)


def test_a_listing_is_cut_at_its_limit_and_says_so(root, workspace):
    for number in range(12):
        (workspace / f"input/deep/{number:02}.txt").write_text("")
    listing = root.list_files("input/deep", limit=10)
    assert listing.paths == tuple(f"input/deep/{number:02}.txt" for number in range(10))
    assert listing.cut
    assert not root.list_files("input/deep", limit=12).cut


def test_a_listing_looks_at_a_bounded_number_of_entries(root, workspace):
    for number in range(20):
        (workspace / f"input/{number:02}.txt").write_text("")
        (workspace / f"{number:02}").mkdir()
    listing = root.list_files(most_visited=5)
    assert listing.cut
    assert len(listing.paths) < 6


def test_what_is_listed_can_be_opened_however_deep_it_lies(root, workspace):
    folder = workspace
    for _ in range(MAX_DEPTH + 3):
        folder /= "d"
        folder.mkdir()
        (folder / "f").write_text("x")
    listing = root.list_files(pattern="d/**/f")
    assert listing.cut
    assert len(listing.paths) == MAX_DEPTH - 1
    assert all(root.read(path, LIMIT) == b"x" for path in listing.paths)


@pytest.mark.parametrize(
    "name", ["a.txt:stream", "con", "NUL.txt", "a.", "a ", "PROGRA~1", "c:a", "a\\b", "lpt1"]
)
def test_the_portable_folder_refuses_names_that_mean_something_on_windows(tmp_path, name):
    root = Root(PathFolder(tmp_path.resolve()))
    with pytest.raises(PathRefused):
        root.write_atomic(f"x/{name}", b"")
    assert not list(tmp_path.rglob("*.*"))


def test_the_portable_folder_refuses_a_file_that_is_elsewhere_though_its_name_is_no_link(tmp_path):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret.txt").write_text("canary")
    root = Root(PathFolder((tmp_path / "workspace").resolve()))
    (tmp_path / "workspace").rmdir()
    (tmp_path / "workspace").symlink_to("elsewhere")
    with pytest.raises(PathRefused):
        root.read("secret.txt", LIMIT)


def test_a_system_without_descriptor_walks_gets_the_portable_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "supports_dir_fd", frozenset())
    assert isinstance(open_folder(tmp_path), PathFolder)
