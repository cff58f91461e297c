"""Attempts to get more out of `shell` than its rules say, each really made. `python -m tests.support.bypasses` prints each
and writes a table of their kinds into `docs/security.md`.

The workspace is hostile: programs and links of the attacker lie in it, its folders are first in `PATH`, and its git
configuration starts programs. Rules: both presets, and `proc.exec.read` is allowed. Nobody answers questions.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from llmdo.base.source import Source
from llmdo.graph import builtin
from llmdo.graph.keys import Reference
from llmdo.policy.authority import Authority, Capability, Rule, base_rules, decide
from llmdo.policy.shell import ShellSettings, parse_rules
from llmdo.syntax.document import Document, Place
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.machine import Machine
from llmdo.toolsets.shell import ShellToolset
from llmdo.workspace.root import Folders

if TYPE_CHECKING:
    from llmdo.policy.shell.rules import IsolationMode

CANARY = "CANARY-4f1d"
MADE = "PWNED"
CONFIG = {"presets": ["read-only", "git-read"]}

Outcome = Literal["refused", "blocked", "asks", "ran"]

ATTEMPTS: dict[tuple[str, Outcome], list[str | list[str]]] = {
    ("shell syntax", "refused"): [
        "ls; touch PWNED", "ls && touch PWNED", "ls || touch PWNED", "ls & touch PWNED", "ls | tee PWNED",
        "ls > PWNED", "ls >> PWNED", "ls 2>PWNED", "cat < ../outside/secret", "cat <<< x", "cat <(touch PWNED)",
        "cat $(echo ../outside/secret)", "cat `echo ../outside/secret`", 'cat "$(cat ../outside/secret)"',
        'cat "`touch PWNED`"', "cat $HOME/.ssh/id_rsa", "cat ${PWD}/../outside/secret", "cat$IFS../outside/secret",
        "cat ../outsid{e,f}/secret", "cat ../out*/secret", "cat ../outside/secre?", "cat ../outside/secre[t]",
        "cat ~/.bashrc", "cat --x=~/.bashrc", "(touch PWNED)", "{ touch PWNED; }", "ls # x", "cat 'README.md",
        "cat README.md \\",
    ],
    ("characters", "refused"): [
        "ls\ntouch PWNED", "ls\rtouch PWNED", "ls\0touch PWNED", "ls\u2028touch PWNED", "ls\u0085touch PWNED",
        "ls\u00a0-la", "ls\u200b", "\u202els", "ls\x1b[2K", ["ls", "a\0b"], ["ls\n"], ["ls "],
    ],
    ("the program", "refused"): [
        "/bin/cat README.md", "./bin/ls", "bin/ls", "../outside/x", "A=1 touch PWNED", "! touch PWNED", "\u217cs", [],
        [""], ["", "ls"], ["/usr/bin/git", "log"], ["cat\u200b", "README.md"], ["."], ["..", "x"], ["-c"],
    ],
    ("programs without a rule", "blocked"): [
        "touch PWNED", "\\t\\o\\u\\c\\h PWNED", "'touch' PWNED", "rm -rf .", "cp README.md PWNED", "tee PWNED",
        "uniq README.md PWNED", "dd of=PWNED", "env", "printenv", "tar -cf PWNED .", "tar xf a --to-command=./evil.sh",
        "ln -s ../outside/secret x", "chmod 777 evil.sh", "sed -n w PWNED README.md",
        "evil.sh", "eval touch PWNED", "world.sh", "bin",
    ],
    ("launchers and interpreters", "blocked"): [
        "sh evil.sh", "bash -c ./evil.sh", "env ./evil.sh", "xargs ./evil.sh", "nohup ./evil.sh", "timeout 5 ./evil.sh",
        "nice ./evil.sh", "setsid ./evil.sh", "stdbuf -o0 ./evil.sh", "script -c ./evil.sh", "setpriv ./evil.sh",
        ["python3", "-c", "open('PWNED','w')"], ["perl", "-e", "open(F,'>PWNED')"], "prlimit ./evil.sh",
        ["awk", "BEGIN{system(\"touch PWNED\")}"], "chroot . ./evil.sh", "ionice ./evil.sh", "flock x ./evil.sh",
    ],
    ("paths", "asks"): [
        "cat ../outside/secret", "cat src/../../outside/secret", "cat ./../outside/secret", "cat /etc/passwd",
        "cat /proc/self/environ", "cat /proc/1/environ", "cat link", "cat ./link", "cat folder/secret",
        "cat ./folder/../folder/secret", "ls folder/", "cat hard", "cat pipe", "head -n 5 link",
        ["cat", "--", "../outside/secret"], "cat -", "cat @list", "cat file:///etc/passwd",
        ["cat", "C:\\x"], ["cat", "..\\outside\\secret"], ["cat", ""], ["cat", "README.md\n"],
        ["cat", "~/.bashrc"], "ls /", "ls ..", "find / -name secret", "grep -r CANARY ..", "diff README.md /etc/passwd",
        "diff README.md link", "wc -c hard", "od /dev/mem",
    ],
    ("options of other programs", "asks"): [
        "find . -exec ./evil.sh {} +", "find . -execdir ./evil.sh {} +", "find . -delete", "find -- -delete",
        "find . -fprint PWNED", "find . -fls PWNED", "find . -ok ./evil.sh {} +", "find . -files0-from link",
        "find -L . -name secret", "sort -o PWNED README.md", "sort README.md -oPWNED", "sort --output=PWNED README.md",
        "sort --outp=PWNED README.md", "sort -no PWNED README.md", "sort -nrPWNED README.md",
        "sort --compress-program=./evil.sh README.md", "sort -T .. README.md", "sort --files0-from=link",
        "grep -f ../outside/secret README.md", "grep -f../outside/secret README.md", "grep --file=link README.md",
        "grep -R CANARY .", "grep --dereference-recursive CANARY .", "wc --files0-from=link", "file -f link",
        "file -m link README.md", "file -C -m x", "tail -f README.md", "tail --follow README.md", "tail +1 README.md",
        "du --files0-from=link", "du -L .", "ls -L link", "ls -laL link", "stat -L link",
        "diff --to-file=link README.md",
        "diff -r . folder", "cat -AnX README.md", "cat --n README.md", "cut -f1 --output-delimiter=x link",
        "date -s now", "date -f link", "head --lines=1 README.md", "od --address-radix=x README.md",
    ],
    ("options of git", "asks"): [
        "git -c alias.x=!./evil.sh x", "git -c core.pager=./evil.sh log", "git -C .. log", "git -C . push",
        "git --git-dir=../outside/.git log", "git --work-tree=.. status", "git --exec-path=. log", "git -p log",
        "git log --output=PWNED", "git log --outpu=PWNED", "git log --ext-diff -p", "git log --textconv -p",
        "git log --show-signature", "git diff --no-index README.md ../outside/secret", "git diff /dev/null link",
        "git diff ../outside/secret README.md", "git diff -Olink", "git show --textconv HEAD",
        "git grep -O./evil.sh TODO",
        "git grep --open-files-in-pager=./evil.sh TODO", "git grep --no-index CANARY ..", "git grep -f link",
        "git blame --contents link README.md", "git push", "git commit -m x", "git checkout .", "git config x.y z",
        "git add .", "git fetch ext::./evil.sh", "git clone ext::./evil.sh x", "git hook run pre-commit", "git evil",
        "git branch new", "git tag x", "git stash", "git rev-parse --parseopt", "git bisect run ./evil.sh",
        "git describe --dirty", "git archive --output=PWNED HEAD", "git submodule foreach ./evil.sh",
    ],
    ("values of words", "asks"): [
        "cat if=../outside/secret", "cat x=link", "cat x:../outside/secret", "cat x,/etc/passwd", "cat a=b=../outside/secret",
        ["cat", "x=~/.bashrc"], "cat x=file:///etc/passwd", "cat x=-n", "cat x=@list", "find x=../outside", "git show HEAD:link",
        "git log -- x:../outside", "cat -- -", "cat -- -/../../outside/secret", "cat -- link", "head -5 link",
        "head -5 ../outside/secret", "tail -5f README.md", "wc -5 README.md", "find -- -exec ./evil.sh {} +",
        "rg -- --pre=./evil.sh", "git grep -e x -- -O./evil.sh", "git show -5 HEAD --output=PWNED",
    ],
    ("secrets in the workspace", "asks"): [
        "cat .env", "cat ./.env", "cat .ENV", "cat src/.env", "cat src/id_rsa", "head -5 .env", "cat -- .env", "ls .git",
        "ls -la ./.git/", "find .git -name config", "cat .git/config", "git show HEAD:.env", "grep -e KEY src/id_rsa",
        "wc -l README.md .env", "cat x=.env", "od -c src/id_rsa", "sort .env", "du -a .git", "file .env", "stat .env",
        "grep -r CANARY .git", "diff README.md .env",
    ],
    ("no shell to hear it", "ran"): [
        ["cat", "--", "-n"], "head -5 README.md", "ls -- -x",
        ["cat", "README.md;touch PWNED"], ["cat", "$(touch PWNED)"], ["cat", "`touch PWNED`"], ["cat", "README.md|sh"],
        ["grep", "-e", "$(touch PWNED)", "README.md"], "grep -e '$(touch PWNED)' README.md",
        "ls 'README.md' \"src\"", "find . -name -delete", "find . -name '-exec'", "head -n=5 README.md",
        "ls", "cat README.md",
    ],
}  # fmt: skip
"""What was tried, by its kind and what has to happen; each attempt is a string or a list of words."""

SEARCHES: list[str | list[str]] = [
    "grep -r KEY", "grep -rn KEY .", "grep -rn -e KEY src", "grep -ri key docs src", "rg --hidden KEY",
    "rg KEY src",
]  # fmt: skip
"""What reads all of a folder: isolated it sees no secrets, without isolation it asks where there are some."""

ISOLATED_ONLY: list[str | list[str]] = [
    "git status", "git log -p", "git diff", "git show HEAD", "git blame README.md", "git diff --stat HEAD",
    ["git", "log", "-n1", "--format=%G?"], "git ls-files -m",
]  # fmt: skip
"""What git-read vouches for: in a hostile repository it asks without isolation, and may run with it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one attempt."""

    kind: str
    command: str | list[str]
    outcome: Outcome
    text: str
    harm: str
    """What the attacker got; empty where nothing."""


@contextmanager
def hostile_workspace() -> Iterator[Path]:
    """A workspace that an attacker prepared, beside a secret that is none of its business."""
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(temporary).resolve()
        root, outside = top / "workspace", top / "outside"
        for folder in (root / "src", root / "bin", outside, top / "world"):
            folder.mkdir(parents=True)
        (outside / "secret").write_text(CANARY)
        (root / "README.md").write_text("hello\n")
        (root / "src/a.py").write_text("x = 1\n")
        evil = f"#!/bin/sh\ntouch {top}/{MADE} {root}/{MADE} {root}/out/{MADE} {root}/.git/{MADE}\ncat\n"
        for path in (
            root / "evil.sh",
            root / "bin/ls",
            root / "bin/cat",
            root / "bin/git",
            top / "world/world.sh",
        ):
            path.write_text(evil)
            path.chmod(0o755)
        (top / "world").chmod(0o777)
        _put_programs(top / "programs")
        (root / "link").symlink_to("../outside/secret")
        (root / "folder").symlink_to("../outside")
        os.link(outside / "secret", root / "hard")
        os.mkfifo(root / "pipe")
        _hostile_repository(root)
        yield root


def _put_programs(folder: Path) -> None:
    """Programs that attempts name and few machines have: they read all that they can, whatever they are asked for."""
    folder.mkdir()
    for name in ("file", "rg"):
        program = folder / name
        program.write_text("#!/bin/sh\nexec grep -r KEY .\n")
        program.chmod(0o755)


def _hostile_repository(root: Path) -> None:
    def git(*words: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=root, env=env, check=True
        )

    git("init", "-q")
    git("add", "README.md", "src")
    git("commit", "-qm", "first")
    evil = f"{root}/evil.sh"
    hostile = (
        f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\thooksPath = {root}\n\teditor = {evil}\n"
        f'[diff]\n\texternal = {evil}\n[diff "x"]\n\ttextconv = {evil}\n\tcommand = {evil}\n'
        f'[filter "x"]\n\tclean = {evil}\n\tsmudge = {evil}\n\trequired = true\n'
        f"[alias]\n\tevil = !{evil}\n[gpg]\n\tprogram = {evil}\n[log]\n\tshowSignature = true\n"
    )
    config = root / ".git/config"
    config.write_text(config.read_text() + hostile)
    (root / ".gitattributes").write_text("*.md filter=x diff=x\n")
    (root / "README.md").write_text("hello again\n")
    (root / "docs/.ssh").mkdir(parents=True)
    for name in (".env", "src/.env", "src/id_rsa", "docs/.ssh/config"):
        (root / name).write_text(f"KEY={CANARY}\n")


@contextmanager
def toolset_in(folders: Folders, isolation: IsolationMode) -> Iterator[tuple[ShellToolset, Authority]]:
    """The toolset of a worker of a workspace, with what has a say over it."""
    root = folders.root
    settings = ShellSettings(rules=parse_rules(CONFIG), isolation=isolation)
    hostile = [".", "bin", f"{root}/bin", str(root), f"{root.parent}/world"]
    path = os.pathsep.join([*hostile, f"{root.parent}/programs", os.environ["PATH"]])
    rules = (Rule(Capability("proc.exec.read"), "allowed", "llmdo.toml"),)
    authority = Authority(base=base_rules(rules))
    with closing(Root.of(folders)) as files:
        machine = Machine.prepare(
            folders, files, settings, environ={"PATH": path, "SECRET_TOKEN": CANARY, "HOME": "/root"}
        )
        yield ShellToolset(machine, {}, authority), authority


def attempt(
    toolset: ShellToolset, authority: Authority, command: str | list[str], number: int
) -> tuple[Outcome, str]:
    """What happens to one call, decided on as the gate does, with nobody to ask."""
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), tool_call_id=str(number))
    arguments = {"command": command, "timeout_s": 5.0}
    settings = ShellSettings(rules=parse_rules(CONFIG))
    declared = builtin.tools("shell", {}, settings)["shell"].capabilities
    raised = toolset.get_capabilities("shell", arguments, context, {})
    verdict = decide(raised, declared, authority)
    if verdict.decision != "allowed":
        why = "; ".join(map(str, verdict.reasons))
        return ("asks" if verdict.decision == "needs_approval" else "blocked"), why
    try:
        text = asyncio.run(toolset.call_tool("shell", arguments, context, None))
    except ToolFailed as failed:
        return "refused", failed.message
    return "ran", text


def harm_done(root: Path, text: str) -> str:
    """What the attacker got, so far; what was made is removed again."""
    harm = []
    if CANARY in text:
        harm.append("the secret was read")
    planted = [path for path in root.parent.rglob(MADE) if not path.is_symlink()]
    for path in planted:
        harm.append("a program of the attacker ran, or a file was written")
        path.unlink()
    if not (root / "README.md").exists():
        harm.append("files were deleted")
    return ", ".join(sorted(set(harm)))


@cache
def results(isolation: IsolationMode, *, is_apart: bool = False) -> tuple[Result, ...]:
    """What came of every attempt; they are made once in a process, as that takes seconds.

    Where `is_apart`, the hostile folder is the root that the tools of another workspace work on.
    """
    return (*_attempted(isolation, is_apart=is_apart),)


def _folders(root: Path, *, is_apart: bool) -> Folders:
    if not is_apart:
        return Folders(root)
    (root.parent / "team").mkdir()
    at = Place(Document(Source("llmdo.toml", ""), {}, dict), ())
    return Folders(root.parent / "team", Reference(f"../{root.name}", at))


def _attempted(isolation: IsolationMode, *, is_apart: bool) -> Iterator[Result]:
    """Every attempt, made one after the other in the same workspace."""
    tried = [(kind, command) for (kind, _), commands in ATTEMPTS.items() for command in commands]
    tried += [("a hostile repository", command) for command in ISOLATED_ONLY]
    tried += [("secrets in folders", command) for command in SEARCHES]
    with (
        hostile_workspace() as root,
        toolset_in(_folders(root, is_apart=is_apart), isolation) as (toolset, authority),
    ):
        for number, (kind, command) in enumerate(tried):
            outcome, text = attempt(toolset, authority, command, number)
            yield Result(kind, command, outcome, text, harm_done(root, text))


def attempts() -> Iterator[tuple[tuple[str, str, str, str], str]]:
    """Kind, outcomes without and with isolation, and harm of every attempt that this machine can make; and its command."""
    modes: list[IsolationMode] = ["off", *(["require"] if shutil.which("bwrap") else [])]
    by_mode = [results(mode) for mode in modes]
    for row in zip(*by_mode, strict=True):
        command = row[0].command
        shown = ascii(command)[1:-1] if isinstance(command, str) else ascii(command)
        without, confined = [*(result.outcome for result in row), "not tried"][:2]
        harm = "; ".join(sorted({result.harm for result in row if result.harm})) or "none"
        yield (row[0].kind, without, confined, harm), f"`` {shown} ``"


def table() -> Iterator[str]:
    """The lines of a Markdown table: attempts of one kind that came to the same are one, with a few of them."""
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for came, command in attempts():
        alike.setdefault(came, []).append(command)
    yield "| kind | tried | such as | without isolation | under bubblewrap | harm |"
    yield "| --- | --: | --- | --- | --- | --- |"
    for (kind, *outcomes), commands in alike.items():
        few = " ".join(commands[:: max(1, len(commands) // 4)][:4]).replace("|", "\\|")
        yield f"| {kind} | {len(commands)} | {few} | {' | '.join(outcomes)} |"


PAGE = Path(__file__).parents[2] / "docs/security.md"
BEGIN, END = "<!-- begin: python -m tests.support.bypasses -->", "<!-- end -->"


def page() -> str:
    """The page of the docs with the table as it comes out now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    lines = "\n".join(table())
    return f"{before}{BEGIN}\n\n{lines}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(*(" | ".join((*came, command)) for came, command in attempts()), sep="\n")
