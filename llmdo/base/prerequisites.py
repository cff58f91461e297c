"""The prerequisites of llmdo: all programs that using it and testing it need of a machine.

`llmdo doctor` explains those for use, CONTRIBUTING.md names all, and CI runs with these alone in its `PATH`.
"""

from __future__ import annotations

from llmdo.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prerequisite:
    """A package of Debian with its needed programs."""

    package: str
    programs: tuple[str, ...]
    use: str = ""
    """Its purpose in llmdo; empty if only its tests and its Makefile need it."""
    asked_by: str = ""
    """The variable that asks for the tests that need it: without it they are skipped if it is missing."""


PYTHON = Prerequisite(package="python3", programs=("python3",), use="llmdo runs on it")
GIT = Prerequisite(package="git", programs=("git",), use="`llmdo diff` needs it")
BUBBLEWRAP = Prerequisite(
    package="bubblewrap",
    programs=("bwrap",),
    use="commands are isolated by bubblewrap, where it is installed and works",
    asked_by="LLMDO_TEST_BWRAP",
)

_COREUTILS = """
[ basename cat chmod chown cp cut date dd df dirname du echo env expr false head id install ln ls mkdir mkfifo mktemp mv
nice nohup nproc od paste printenv printf pwd readlink realpath rm rmdir seq sha256sum sleep sort split stat stty tail
tee test timeout touch tr true truncate tty uname uniq wc whoami yes
"""

PREREQUISITES = (
    PYTHON,
    GIT,
    Prerequisite(package="bash", programs=("bash",)),
    Prerequisite(package="coreutils", programs=tuple(_COREUTILS.split())),
    Prerequisite(package="dash", programs=("sh",)),
    Prerequisite(package="diffutils", programs=("diff",)),
    Prerequisite(package="findutils", programs=("find",)),
    Prerequisite(package="grep", programs=("grep",)),
    Prerequisite(package="make", programs=("make",)),
    Prerequisite(package="mount", programs=("mount", "umount")),
    Prerequisite(package="util-linux", programs=("prlimit", "setpriv", "setsid")),
    BUBBLEWRAP,
    Prerequisite(
        package="postgresql", programs=("initdb", "pg_ctl", "postgres"), asked_by="LLMDO_TEST_POSTGRES"
    ),
    Prerequisite(package="chromium", programs=("chromium",), asked_by="LLMDO_TEST_CHROMIUM"),
    Prerequisite(package="npm", programs=("node", "npm"), asked_by="LLMDO_TEST_NPM"),
    Prerequisite(package="coq", programs=("coqc",), asked_by="LLMDO_TEST_COQ"),
    Prerequisite(package="ocaml-nox", programs=("ocamlc", "ocamlrun")),
)
