"""Commands, really run: what limits them, what isolates them, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.authority import Authority, Capability, Ceiling, Rule, base_rules
from llmdo.policy.shell import ShellLimits, ShellSettings
from llmdo.policy.shell.words import CommandRefused
from llmdo.toolsets import exposure
from llmdo.toolsets.children import Alone
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.machine import Grants, Machine
from llmdo.toolsets.processes import Finished
from llmdo.toolsets.programs import Programs, environment
from llmdo.workspace.root import Folders
from tests.support.alive import gone, long_time, running
from tests.support.waiting import until, waited_for

CANARY = "CANARY-77a2"
SYSTEM = os.environ["PATH"]

both = pytest.mark.parametrize("isolation", ["off", pytest.param("require", marks=pytest.mark.needs_bwrap)])


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    (root / "out").mkdir(parents=True)
    (root / "README.md").write_text("hello\n")
    return root


@pytest.fixture
def machine(workspace):
    with closing(Root.open(workspace)) as files:

        def make(isolation="off", governing=(), env=(), **limits):
            settings = ShellSettings(isolation=isolation, env=env, limits=ShellLimits(**limits))
            environ = {
                "PATH": SYSTEM,
                "HOME": "/home/somebody",
                "SECRET_TOKEN": CANARY,
                "LD_PRELOAD": "/x.so",
            }
            return Machine.prepare(Folders(workspace), files, settings, governing, environ)

        yield make


def run(machine: Machine, *command: str, seconds: float = 5.0, **grants) -> Finished:
    finished, _ = asyncio.run(machine.run(command, Grants(**grants), seconds))
    return finished


def out(finished: Finished) -> str:
    return finished.stdout.content.decode() + finished.stderr.content.decode()


@pytest.fixture
def long() -> str:
    """Seconds to sleep, of a number by which the processes of this very test are known."""
    return long_time()


@both
def test_a_program_runs_in_the_workspace(machine, isolation) -> None:
    finished = run(machine(isolation), "cat", "README.md")
    assert (finished.status, out(finished)) == (0, "hello\n")


@both
def test_its_input_is_empty(machine, isolation) -> None:
    assert run(machine(isolation), "cat").status == 0


@both
def test_a_background_process_is_ended_with_its_command(machine, isolation, long) -> None:
    finished = run(machine(isolation), "sh", "-c", f"sleep {long} > /dev/null 2>&1 & echo started")
    assert out(finished) == "started\n"
    assert gone(long)


@both
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a session of its own is not found")
def test_a_daemon_is_ended_with_its_command(machine, isolation, long) -> None:
    line = f"setsid sh -c 'setsid sleep {long} < /dev/null > /dev/null 2>&1 &'; echo started"
    assert out(run(machine(isolation), "sh", "-c", line)) == "started\n"
    assert gone(long)


@both
def test_a_process_that_holds_the_output_does_not_hold_the_command(machine, isolation, long) -> None:
    finished = run(machine(isolation), "sh", "-c", f"sleep {long} & echo started", seconds=20)
    assert not finished.timed_out
    assert out(finished) == "started\n"
    assert finished.left_behind or isolation == "require"
    assert gone(long)


@pytest.mark.long
@both
def test_a_command_that_ignores_signals_is_ended_in_time(machine, isolation, long) -> None:
    line = f"trap '' TERM INT HUP; echo waiting; sleep {long}; sleep {long}"
    finished = run(machine(isolation), "sh", "-c", line, seconds=1.5)
    assert finished.timed_out
    assert out(finished) == "waiting\n"
    assert gone(long)


@pytest.mark.few(1)
@both
def test_a_flood_is_read_and_dropped(machine, isolation) -> None:
    finished = run(machine(isolation, output_bytes=1000), "head", "-c", "5000000", "/dev/zero", seconds=20)
    assert (len(finished.stdout.content), finished.stdout.dropped) == (1000, 4_999_000)
    endless = run(machine(isolation, output_bytes=1000), "yes", seconds=0.5)
    assert endless.timed_out
    assert len(endless.stdout.content) <= 1000


@both
def test_a_file_cannot_grow_beyond_its_limit(machine, isolation, workspace) -> None:
    words = ("dd", "if=/dev/zero", "of=out/big", "bs=1M", "count=1024")
    finished = run(machine(isolation, file_mb=2), *words, write=("out/**",))
    assert finished.status != 0
    assert (workspace / "out/big").stat().st_size <= 2 * 1024 * 1024


@both
def test_limits_hold_without_the_program_that_sets_them(workspace, tmp_path, isolation) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/dd").symlink_to(Path(shutil.which("dd")).resolve())  # the sandbox has no folder of links
    environ = {"PATH": str(tmp_path / "bin")}
    settings = ShellSettings(isolation=isolation, limits=ShellLimits(file_mb=1))
    with closing(Root.open(workspace)) as files:
        sandbox = Machine.prepare(Folders(workspace), files, settings, environ=environ)
        words = ("dd", "if=/dev/zero", "of=out/big", "bs=1M", "count=4")
        assert run(sandbox, *words, write=("out/**",)).status != 0
    assert (workspace / "out/big").stat().st_size == 1024 * 1024


@both
def test_memory_is_limited(machine, isolation) -> None:
    finished = run(
        machine(isolation, memory_mb=200), "dd", "if=/dev/zero", "of=/dev/null", "bs=1G", "count=1"
    )
    assert finished.status != 0
    assert "memory" in out(finished)


@pytest.mark.long
@both
def test_what_forks_without_end_is_ended_as_a_whole(machine, isolation, long) -> None:
    line = f"while :; do sleep {long} & done"
    finished = run(machine(isolation, processes=50), "sh", "-c", line, seconds=0.5)
    assert finished.timed_out or "fork" in out(finished)  # the superuser's processes are not counted
    assert gone(long)


@both
def test_a_cancelled_command_is_ended(machine, isolation, long) -> None:
    async def cancel() -> None:
        task = asyncio.create_task(machine(isolation).run(("sleep", long), Grants(), 30))
        assert await asyncio.to_thread(waited_for, lambda: running(long))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert gone(long)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system does not name processes for good")
def test_a_child_that_left_the_group_is_ended_with_its_parent(tmp_path, long) -> None:
    # As bubblewrap's is for a moment, before it has asked to die with its parent.
    script = (
        f"import os, time\n"
        f"if os.fork() == 0:\n  os.setsid()\n  os.execvp('sleep', ['sleep', '{long}'])\n"
        f"time.sleep(300)"
    )
    with closing(Alone([sys.executable, "-c", script], tmp_path, {"PATH": SYSTEM})) as child, child.process:
        until(lambda: any(os.getsid(pid) != child.process.pid for pid in running(long)))
        child.end()
    assert gone(long)


def test_commands_run_at_the_same_time(machine) -> None:
    line = "echo > out/$0; while [ $(ls out | wc -l) -lt 6 ]; do sleep 0.02; done"

    async def together() -> list[tuple[Finished, object]]:
        sandbox = machine()
        return await asyncio.gather(
            *(
                sandbox.run(("sh", "-c", line, str(number)), Grants(write=("out/**",)), 20)
                for number in range(6)
            )
        )

    assert [finished.timed_out for finished, _ in asyncio.run(together())] == [False] * 6


@both
def test_a_command_sees_nothing_of_our_environment(machine, isolation) -> None:
    printed = out(run(machine(isolation, env=("LD_PRELOAD", "MISSING")), "env"))
    assert CANARY not in printed
    names = {line.partition("=")[0] for line in printed.splitlines()}
    assert names <= {"PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "PWD"}


@both
def test_a_command_is_given_what_was_declared(machine, isolation) -> None:
    assert f"SECRET_TOKEN={CANARY}" in out(run(machine(isolation, env=("SECRET_TOKEN",)), "env"))


@pytest.mark.needs_bwrap
def test_the_processes_of_the_machine_are_not_to_be_seen(machine, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", CANARY)
    printed = out(run(machine("require"), "sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline"))
    assert CANARY not in printed
    assert "python" not in printed


HIDING = """
import os, subprocess
from llmdo.toolsets.processes import hide_from_children
hide_from_children()
path = f"/proc/{os.getpid()}/environ"
done = subprocess.run(["cat", path], capture_output=True, text=True)
print(done.returncode, os.geteuid(), "CANARY" in done.stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_a_child_cannot_read_the_environment_of_a_process_that_hides() -> None:
    script = (
        HIDING
        if os.geteuid()
        else f"import os, subprocess\nimport llmdo.toolsets.processes\nos.setuid(65534)\n{HIDING}"
    )
    env = {**os.environ, "SECRET_TOKEN": CANARY}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.stderr == ""
    status, user, seen = done.stdout.split()
    assert (status, seen) == ("1", "False")
    assert user != "0"


def listening() -> socket.socket:
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(5)
    return server


@pytest.mark.needs_bwrap
def test_there_is_no_network_unless_it_is_granted(machine) -> None:
    with listening() as server:
        line = f"echo hello > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert run(machine("require"), "bash", "-c", line).status != 0
        assert run(machine("require"), "bash", "-c", line, network=True).status == 0
        server.accept()[0].close()


@pytest.mark.needs_bwrap
def test_the_workspace_is_written_only_where_that_is_granted(machine, workspace) -> None:
    line = "echo x > README.md; echo x > new; echo x > out/new"
    assert out(run(machine("require"), "sh", "-c", line)).count("Read-only") == 3
    run(machine("require"), "sh", "-c", line, write=("out/**",))
    assert (workspace / "out/new").read_text() == "x\n"
    assert (workspace / "README.md").read_text() == "hello\n"
    run(machine("require"), "sh", "-c", line, write=("README.md",))
    assert (workspace / "README.md").read_text() == "x\n"
    assert not (workspace / "new").exists()


@pytest.mark.needs_bwrap
def test_all_of_the_workspace_is_all_but_what_governs_it(machine, workspace) -> None:
    (workspace / "tools").mkdir()
    for path in ("llmdo.toml", "tools/calc.py"):
        (workspace / path).write_text("original")
    line = "for one in README.md llmdo.toml llmdo.lock tools/calc.py tools/new.py .git out/a; do echo x > $one; done"
    run(machine("require", governing=("tools/calc.py",)), "sh", "-c", line, write=("**",))
    written = {path.relative_to(workspace).as_posix() for path in workspace.rglob("*") if path.is_file()}
    assert written == {"README.md", "llmdo.toml", "tools/calc.py", "out/a"}
    assert (workspace / "tools/calc.py").read_text() == (workspace / "llmdo.toml").read_text() == "original"
    assert (workspace / "README.md").read_text() == "x\n"


@pytest.mark.needs_bwrap
def test_a_protected_file_deep_in_a_folder_cannot_be_swapped(machine, workspace) -> None:
    (workspace / "out/a/.git").mkdir(parents=True)
    (workspace / "out/a/.git/config").write_text("original")
    line = (
        "echo x > out/a/.git/config; mv out/a out/b; mv out/a/.git out/git; rm -rf out/a; mkdir -p out/a/.git"
    )
    run(machine("require"), "sh", "-c", line, write=("out/**",))
    assert (workspace / "out/a/.git/config").read_text() == "original"


@pytest.mark.needs_bwrap
def test_a_protected_file_that_a_command_makes_is_set_aside(machine, workspace) -> None:
    line = "mkdir -p out/x/.git/hooks; echo x > out/conftest.py; ln -s /etc out/.env; echo x > out/fine"
    _, removed = asyncio.run(machine("require").run(("sh", "-c", line), Grants(write=("out/**",)), 5))
    assert removed == ("out/.env", "out/conftest.py", "out/x/.git")
    assert sorted(path.name for path in (workspace / "out").iterdir()) == ["fine", "x"]
    assert len(list((workspace / exposure.REMOVED).iterdir())) == 3


@pytest.mark.needs_bwrap
def test_a_link_opens_nothing_outside(machine, workspace) -> None:
    (workspace.parent / "outside").mkdir()
    (workspace / "out/link").symlink_to(workspace.parent / "outside")
    run(machine("require"), "sh", "-c", "echo x > out/link/x", write=("out/**", "out/link/**"))
    assert not list((workspace.parent / "outside").iterdir())


@pytest.mark.few(2)
@pytest.mark.needs_bwrap
@pytest.mark.parametrize("home", ["home", ".", "/", "/tmp", "relative"])
def test_the_home_folder_is_hidden(tmp_path, workspace, home) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/token").write_text(CANARY)
    environ = {"PATH": SYSTEM, "HOME": home if home == "relative" else str(tmp_path / home)}
    with closing(Root.open(workspace)) as files:
        sandbox = Machine.prepare(
            Folders(workspace), files, ShellSettings(isolation="require"), environ=environ
        )
        assert CANARY not in out(run(sandbox, "cat", str(tmp_path / "home/token")))
        assert out(run(sandbox, "sh", "-c", "cd ~ && pwd && cat $OLDPWD/README.md")) == "/tmp/home\nhello\n"


@pytest.mark.long
def test_too_much_to_watch_over_is_not_opened(machine, workspace) -> None:
    for number in range(exposure.MAX_SCANNED + 1):
        (workspace / f"out/{number}").touch()
    with Root.open(workspace) as files, pytest.raises(LlmdoError, match="too many"):
        exposure.expose(files, workspace, ["out/**"], exposure.WriteGuard(frozenset()))


def test_a_missing_path_opens_the_folder_it_would_be_made_in(workspace) -> None:
    with Root.open(workspace) as files:
        assert exposure.expose(files, workspace, ["out/a/b"], exposure.WriteGuard(frozenset())).writable == (
            "out",
        )
        assert exposure.expose(files, workspace, ["new"], exposure.WriteGuard(frozenset())).writable == (
            "README.md",
            "out",
        )
        assert exposure.expose(files, workspace, [".git/x"], exposure.WriteGuard(frozenset())).writable == (
            "README.md",
            "out",
        )
        assert exposure.expose(
            files, workspace, ["out/**", "out/x"], exposure.WriteGuard(frozenset())
        ).writable == ("out",)


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_machine_without_bubblewrap_says_so_or_refuses(workspace) -> None:
    with Root.open(workspace) as files:
        isolation = Machine.prepare(
            Folders(workspace), files, ShellSettings(), environ={"PATH": SYSTEM}
        ).isolation
        assert isolation.name == "none"
        assert "there is no `bwrap` here" in str(isolation)
        assert "the network" in isolation.lacks
        with pytest.raises(LlmdoError, match="cannot be isolated, which the manifest requires"):
            Machine.prepare(
                Folders(workspace), files, ShellSettings(isolation="require"), environ={"PATH": SYSTEM}
            )


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_bubblewrap_that_does_not_work_counts_as_none(tmp_path, workspace) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy("/usr/bin/false", tmp_path / "bin/bwrap")
    with Root.open(workspace) as files:
        sandbox = Machine.prepare(
            Folders(workspace), files, ShellSettings(), environ={"PATH": f"{tmp_path}/bin:{SYSTEM}"}
        )
        assert not sandbox.isolated
        assert "does not work here" in sandbox.isolation.reason


@pytest.mark.needs_bwrap
def test_bubblewrap_says_what_it_covers(machine) -> None:
    isolation = machine("auto").isolation
    assert isolation.name == "bubblewrap"
    assert "the home folder" in isolation.covers
    assert "memory, which is limited for each process alone" in isolation.lacks


def test_a_program_that_is_not_there_is_refused(machine) -> None:
    with pytest.raises(CommandRefused, match="there is no program `no-such-program` here"):
        run(machine(), "no-such-program")


def test_programs_are_looked_for_only_where_nobody_else_can_put_one(tmp_path) -> None:
    root = tmp_path / "workspace"
    folders = {name: tmp_path / name for name in ("good", "open", "workspace/bin")}
    for folder in folders.values():
        folder.mkdir(parents=True)
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    folders["open"].chmod(0o777)
    (tmp_path / "link").symlink_to(root / "bin")
    (folders["good"] / "inside").symlink_to(root / "bin/tool")
    (folders["good"] / "writable").write_text("")
    (folders["good"] / "writable").chmod(0o777)
    (folders["good"] / "plain").write_text("")
    path = os.pathsep.join(
        [".", "", "bin", str(root / "bin"), str(tmp_path / "link"), *map(str, folders.values())]
    )
    programs = Programs.of(path, root)
    assert programs.folders == (folders["good"],)
    assert programs.find("tool") == folders["good"] / "tool"
    for name in ("inside", "writable", "plain", "missing"):
        with pytest.raises(CommandRefused):
            programs.find(name)
    assert environment(programs, "/h", (), {})["PATH"] == str(folders["good"])


RULES = {
    "fs.write:out/**": "allowed",
    "fs.write:out/final/**": "blocked",
    "net.connect": "allowed",
    "fs.write:a": "allowed",
}


def test_what_is_granted_is_what_no_question_would_be_asked_about() -> None:
    rules = tuple(Rule(Capability.parse(text), decision, "llmdo.toml") for text, decision in RULES.items())
    base = base_rules(rules)
    assert Grants.of(Authority(base=base)) == Grants(network=True, write=("a",))
    assert Grants.of(Authority(base=base_rules(rules[:1]))) == Grants(write=("out/**",))
    assert Grants.of(Authority(base=base_rules(()))) == Grants()
    tight = Ceiling((Capability("fs.write", "a"),), "entry `x`")
    assert Grants.of(Authority(base=base, ceilings=(tight,))) == Grants(write=("a",))
    asks = (Rule(Capability("net"), "needs_approval", "worker `w`"),)
    assert not Grants.of(Authority(base=base, layers=asks)).network


@pytest.fixture
def secrets(workspace):
    for name in (".env", "src/.git/config", "src/a.py", "src/sub/server.pem", "src/.GIT/x"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"{CANARY} {name}\n")
    (workspace / "src/id_link").symlink_to("../README.md")


@pytest.mark.needs_bwrap
def test_a_command_that_searches_folders_sees_no_secrets_in_them(machine, secrets) -> None:
    sandbox = machine("require")
    assert CANARY in out(run(sandbox, "grep", "-rsh", CANARY, "."))
    assert out(run(sandbox, "grep", "-rsh", CANARY, ".", search=("**",))) == f"{CANARY} src/a.py\n"
    shown = out(run(sandbox, "grep", "-rsh", CANARY, "src", search=("src/**",), secrets=("src/sub/**",)))
    assert sorted(shown.splitlines()) == [f"{CANARY} src/a.py", f"{CANARY} src/sub/server.pem"]


@pytest.mark.needs_bwrap
def test_hiding_leaves_the_files_as_they_are(machine, secrets, workspace) -> None:
    run(machine("require"), "grep", "-rs", CANARY, ".", search=("**",))
    assert (workspace / ".env").read_text() == f"{CANARY} .env\n"
    assert (workspace / "src/.git/config").read_text() == f"{CANARY} src/.git/config\n"


def test_secrets_are_looked_for_without_following_links(secrets, workspace) -> None:
    (workspace / "docs").symlink_to("src")
    paths = set(exposure.secrets_in(workspace, ["**"]))
    assert paths == {".env", "src/.git", "src/.GIT", "src/sub/server.pem"}
    assert set(exposure.secrets_in(workspace, ["out/**", "README.md/**", "gone/**"])) == set()


def test_more_than_can_be_looked_through_or_hidden_is_refused(secrets, workspace) -> None:
    for number in range(exposure.MAX_HIDDEN):
        (workspace / f"{number}").mkdir()
        (workspace / f"{number}/.env").touch()
    with pytest.raises(LlmdoError, match="more than 2,000 files"):
        exposure.hide(workspace, ["**"], ())
    with pytest.raises(LlmdoError, match="more than 3 files to keep secrets from"):
        list(exposure.secrets_in(workspace, ["**"], most=3))
