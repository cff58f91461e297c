"""The files of a git revision, read from git's objects alone: nothing is checked out and nothing is run.

A stranger's repository brings its own git configuration, so git is asked only by commands that cannot start a program
(`rev-parse`, `ls-tree`, `cat-file`), in an environment made from nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import nearest
from llmdo.base.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

WHOLE = "fetch the whole history of that revision"
"""The hint where a clone lacks something."""

_SHA256 = 64  # signs of a name of an object: the others are SHA-1
_LONG_NAMES = "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n"

_FATAL = "fatal: "
SECONDS = 10  # for one question to git: each is a lookup that takes milliseconds

_HARDENED = (
    "--no-pager",
    "--no-replace-objects",
    "-c",
    "safe.directory=*",  # in a container the checkout often has another owner; nothing of it is run
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "protocol.allow=never",
)

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch a missing object by a command of its configuration
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a revision, not yet read."""

    name: str
    """The name of the object."""
    size: int | None
    """None if this clone does not have the object."""
    is_regular: bool
    """Whether it is neither a link nor another repository."""
    is_repository: bool = False
    within: str = ""
    """The folder of the submodule whose repository has it; empty for the repository itself."""


MAX_SUBMODULES = 100  # nobody has more, and each is a few questions to git


def with_submodules(root: Path, files: Mapping[str, Blob]) -> dict[str, Blob]:
    """The files, and those of submodules that are checked out, at the commits that the revision names.

    What of a submodule this clone does not have is left as the repository that it is, and so are submodules in
    submodules.
    """
    by_path = dict(files)
    links = [path for path, blob in files.items() if blob.is_repository]
    for path in links[:MAX_SUBMODULES]:
        folder = root / path
        if not _is_own(root, folder):
            continue
        try:
            listed = _listed(folder, commit_of(folder, files[path].name))
        except LlmdoError:
            continue
        del by_path[path]
        by_path.update({f"{path}/{name}": replace(blob, within=path) for name, blob in listed.items()})
    return by_path


def _is_own(root: Path, folder: Path) -> bool:
    """Whether a folder is checked out from a repository that lies, with its objects, within that of `root`."""
    if not (folder / ".git").exists():
        return False
    own = _repository(root.absolute()).resolve()
    objects = folder / os.fsdecode(_git(folder, "rev-parse", "--git-path", "objects").removesuffix(b"\n"))
    return all(place.resolve().is_relative_to(own) for place in (folder, objects))


def files(root: Path, revision: str) -> dict[str, Blob]:
    """Every file below `root` at `revision`, by its path from there; none if there was no such folder.

    Raises:
        LlmdoError: there is no git, no repository, or no such revision, or this clone does not have its folders.
    """
    commit = commit_of(root, revision)
    if not (prefix := _prefix(root).rstrip("/")):
        return _listed(root, commit)
    # A literal path would not list what is below it: the listing starts at the folder's own tree.
    folder = _listed(root, commit, prefix, "-d").get(prefix)
    return _listed(root, folder.name) if folder and not folder.is_repository else {}


def file_at(root: Path, revision: str, path: str) -> Blob | None:
    """The file at `path` below `root` at `revision`; None if there was none.

    Raises:
        LlmdoError: there is no git, no repository, or no such revision.
    """
    blobs = _listed(root, commit_of(root, revision), f"{_prefix(root)}{path}")
    return next(iter(blobs.values()), None)


def _prefix(root: Path) -> str:
    """The path of `root` in its repository, with a slash at the end."""
    return _git(root, "rev-parse", "--show-prefix").removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _listed(root: Path, tree: str, path: str | None = None, kinds: str = "-r") -> dict[str, Blob]:
    """The entries of a tree, or the one at `path`, with their sizes."""
    words = ("ls-tree", kinds, "-z", "--full-tree", tree, *(("--", path) if path else ()))
    try:
        listed = _git(root, *words)
    except LlmdoError as error:
        if "could not fetch" not in error.message:
            raise
        raise LlmdoError("a folder of that revision is not in this clone", hint=WHOLE) from error
    entries = []
    for entry in listed.split(b"\0")[:-1]:
        facts, name = entry.split(b"\t", 1)
        entries.append((name.decode("utf-8", "surrogateescape"), *facts.decode().split()))
    sizes = _sizes(root, {name for _, _, kind, name in entries if kind == "blob"})
    return {
        path: Blob(name, sizes.get(name), kind == "blob" and mode != "120000", is_repository=kind == "commit")
        for path, mode, kind, name in entries
    }


def _sizes(root: Path, names: Collection[str]) -> dict[str, int]:
    """The sizes of the objects that this clone has."""
    lines = _objects(root, "--batch-check", names).decode().splitlines()
    facts = (line.split() for line in lines)
    return {name: int(rest[-1]) for name, *rest in facts if rest[-1].isdecimal()}


def contents(root: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The content of the objects with these names, in one question.

    Raises:
        LlmdoError: one of them is not in this clone.
    """
    if not names:
        return {}
    wanted = sorted(set(names))
    answer = _objects(root, "--batch", wanted)
    by_name = {}
    at = 0
    for name in wanted:
        end = answer.index(b"\n", at)
        facts = answer[at:end].split()
        if len(facts) != 3:
            raise LlmdoError("a file of that revision is not in this clone", hint=WHOLE)
        size = int(facts[2])
        by_name[name] = answer[end + 1 : end + 1 + size]
        at = end + size + 2
    return by_name


def _objects(root: Path, how: str, names: Collection[str]) -> bytes:
    """What `git cat-file` says of objects, with the clone's own configuration left out.

    That of a partial clone would have git ask a server for what is missing, and fail at the first such object.
    """
    if not names:
        return b""
    objects = root / os.fsdecode(_git(root, "rev-parse", "--git-path", "objects").removesuffix(b"\n"))
    with tempfile.TemporaryDirectory(prefix="llmdo-") as folder:
        plain = Path(folder)
        (plain / "refs").mkdir()
        (plain / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        is_long = len(next(iter(names))) == _SHA256
        (plain / "config").write_text(_LONG_NAMES if is_long else "", encoding="ascii")
        where = {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": str(objects.absolute())}
        question = "".join(f"{name}\n" for name in sorted(names)).encode()
        return _git(root, "cat-file", how, question=question, where=where)


def commit_of(root: Path, revision: str) -> str:
    """The name of the commit of a revision.

    Raises:
        LlmdoError: there is no git, no repository, or no such revision.
    """
    if revision.startswith("-") or not revision.isprintable() or not revision:
        raise LlmdoError(f"`{revision}` is not a revision")
    _git(root, "rev-parse", "--git-dir")
    name = f"{revision}^{{commit}}"
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name, failing=True)
    if not commit:
        raise LlmdoError(
            f"there is no revision `{revision}` in this repository",
            hint="nothing was committed yet"
            if revision == "HEAD"
            else "a shallow clone lacks other branches: `git fetch --depth 1 origin BRANCH`, then FETCH_HEAD",
        )
    return commit.decode().strip()


def _git(
    root: Path,
    *words: str,
    failing: bool = False,
    question: bytes = b"",
    where: Mapping[str, str] | None = None,
) -> bytes:
    """The answer of git to `question`; nothing if it fails and `failing` permits it.

    `where` are variables by which git finds its folders elsewhere.
    """
    program = _program(root)
    environment = {**_ENVIRONMENT, **(where or {}), "PATH": str(Path(program).parent)}
    if system := os.environ.get("SYSTEMROOT"):
        environment["SYSTEMROOT"] = system
    try:
        done = subprocess.run(
            [program, *_HARDENED, *words],
            cwd=root,
            env=environment,
            input=question,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LlmdoError(f"git did not answer within {SECONDS} seconds") from error
    except OSError as error:
        raise LlmdoError(f"git cannot be started: {(error.strerror or 'error').lower()}") from error
    if done.returncode and failing:
        return b""
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().split("\n")
        reason = next((line for line in lines if line.startswith(_FATAL)), lines[0]).removeprefix(_FATAL)
        raise LlmdoError(
            f"git cannot read this repository: {reason}",
            hint="`llmdo diff --locks A B` compares two files without git",
        )
    return done.stdout


def _program(root: Path) -> str:
    if program := git_in(os.environ.get("PATH", ""), root):
        return program
    raise LlmdoError("git is not installed", hint="`llmdo diff --locks A B` compares two files without it")


def git_in(path: str, root: Path) -> str | None:
    """The git in the folders of a `PATH`; none that is relative, or that the repository around `root` could bring."""
    own = _repository(root.absolute())
    for folder in map(Path, path.split(os.pathsep)):
        if not folder.is_absolute():
            continue
        program = shutil.which("git", path=str(folder))
        if program is None:
            continue
        # A folder of the repository may be a link to another one, and such another one a link to it.
        places = (Path(os.path.normpath(folder)), folder.resolve(), Path(program).resolve())
        if not any(place.is_relative_to(own) or place.is_relative_to(own.resolve()) for place in places):
            return program
    return None


def _repository(root: Path) -> Path:
    """The folder of the repository that `root` is in; `root` itself if it is in none."""
    return Path(nearest(str(root), ".git", is_file=False) or root)
