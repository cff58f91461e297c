"""Kills a run with SIGKILL at random moments until it is complete, and compares it with one that nobody disturbed.

The run: code that calls four unequal delegates at a time, and beside them, for each of four items, one worker and then
another, in whichever order they answer; for eight more parts the same of workers that ask nobody, so that time alone
puts their calls in order. Their effects must happen once each: of tools, of shell commands that nothing
isolates, and of calls with typed arguments that somebody is asked about, which stops the run until it is answered.
After a kill the power may be lost as well, so that what was not forced to disk is gone, and bits of copies of the
journal are flipped. Nothing that a command started may be left when the run is complete.

`python -m bench.crash --kills 200`; with `--items 300 --kills 100`, a batch of so many items whose process is killed
so often, while runs are pruned.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import llmdo.runtime  # so that no child has to import it
from bench import damage, housekeeping
from bench.crashed import AT_WORK, EFFECTS, FILES
from llmdo.__main__ import main as llmdo
from llmdo.journal import JournalError, Runs, audit
from llmdo.journal.questions import add_answer, waiting
from llmdo.journal.spent import spent
from llmdo.journal.summary import unfinished as unfinished_calls
from llmdo.journal.unsettled import require_ended

if TYPE_CHECKING:
    from collections.abc import Callable

HUNG_SECONDS = 240  # for one process, on a machine that has other work
PATIENCE_SECONDS = 30  # for a guardian to end what a command left
FLIPS = 3  # of one bit each, after every kill


@dataclass(frozen=True)
class Trial:
    """How one run went that was killed again and again."""

    kills: int
    processes: int
    unfinished: int
    """Tools that were killed between their start and their end, and that somebody had to look at."""
    lost: list[str]
    repeated: list[str]
    swapped: list[str]
    """Calls of workers in which the effects came in another order."""
    result: str
    """What differs in the output, or in the number of requests that were heard; empty where nothing does."""
    requests: int
    audit: list[str]
    """Where the audit does not hold, or says something else than the journal; looked at after every kill."""


def write_workspace(root: Path) -> None:
    """Writes the workspace of the run, and locks it, so that no run has to inspect its toolsets."""
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    assert finished(start(root, ["lock"])) == 0, (root / "err.txt").read_text()


def start(root: Path, words: list[str]) -> int:
    """Begins `llmdo WORDS` in `root`, in a process that need not import anything first; its id."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.chdir(root)
        for name, number in (("out.txt", 1), ("err.txt", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        damage.note_forced(root)
        sys.argv = ["llmdo", *words]
        code = llmdo()
        sys.stdout.flush()
    finally:
        os._exit(code)


def finished(child: int, is_due: Callable[[], bool] = lambda: False) -> int:
    """The exit code of a process, which is killed as soon as that is due; minus the signal where it was.

    Raises:
        HungError: It did not end.
    """
    deadline = time.monotonic() + HUNG_SECONDS
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if is_due():
            os.kill(
                child, signal.SIGKILL
            )  # one that has ended waits for its parent, so this hits nobody else
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise HungError
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(ended[1])


def _moment(root: Path, chance: random.Random, seconds: float) -> Callable[[], bool]:
    """When the next process is killed: after a part of so many `seconds`, while it runs a command, or never."""
    began, begun = time.monotonic(), root / AT_WORK
    begun.unlink(missing_ok=True)
    after, into, kind = chance.uniform(0.0, seconds), chance.uniform(0.0, 0.2), chance.random()
    if kind < 0.6:
        return lambda: time.monotonic() - began > after
    if kind < 0.8:
        return lambda: begun.exists() and time.time() - begun.stat().st_mtime > into
    return lambda: False


class HungError(Exception):
    """A process did not end."""


def undisturbed(root: Path) -> tuple[str, int, float]:
    """The output, the number of requests and the seconds of the same run, approved and not killed."""
    began = time.monotonic()
    words = ["run", "--approve-all", "--no-journal", "--format", "json"]
    assert finished(start(root, words)) == 0, (root / "err.txt").read_text()
    (root / "effects.log").unlink()
    outcome = json.loads((root / "out.txt").read_text())
    return outcome["output"], outcome["usage"]["requests"], time.monotonic() - began


def trial(root: Path, chance: random.Random, expected: tuple[str, int, float], tally: damage.Tally) -> Trial:
    """Runs once in `root`, killed at random moments until it is complete."""
    kills = processes = unfinished = 0
    audited: list[str] = []
    words = ["run", "--approvals", "later"]
    while True:
        processes += 1
        if not list((root / ".llmdo" / "runs").glob(f"*{damage.LOG}")):
            (root / damage.FORCED).unlink(missing_ok=True)  # it was of a log that is gone
        moment = _moment(root, chance, expected[2])
        code = finished(start(root, [*words, "--format", "json"]), moment)
        if code == -signal.SIGKILL:
            kills += 1
            _damage(root, chance, tally)
        audited += _faults(root)
        if code == 0:
            outcome = json.loads((root / "out.txt").read_text())
            break
        if code not in (3, -signal.SIGKILL):
            audited.append(f"exit code {code}: {(root / 'err.txt').read_text()[-2000:]}")
            outcome = {"output": None, "usage": {"requests": 0}}
            break
        names = Runs(root).names()
        if not names or not _has_begun(root, names[-1]):
            continue
        words = ["resume", names[-1]]
        if code == 3:  # which a run may come to before it has begun again what was killed in it
            _approve(root, names[-1])
        try:
            again = _open_calls(root, names[-1])
        except JournalError as error:
            audited.append(error.message)
            outcome = {"output": None, "usage": {"requests": 0}}
            break
        if again:
            unfinished += len(again)
            words += [word for path in again for word in ("--again", path)]
    audited += _outliving(root)
    return _judged(root, outcome, expected, kills, processes, unfinished, audited)


def _outliving(root: Path) -> list[str]:
    """What still runs in `root` although its llmdo has ended, a sentence each; it is ended here."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := _at_work_in(root)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return [f"a command outlived llmdo: {' '.join(words)}" for words in left.values()]


def _at_work_in(root: Path) -> dict[int, list[str]]:
    """The words of each process whose folder is `root`, as far as the system lists them."""
    words_of: dict[int, list[str]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == root.resolve():
                words_of[int(process.name)] = (process / "cmdline").read_text().split("\0")
        except OSError:  # it ended, or belongs to somebody else
            continue
    return words_of


def _damage(root: Path, chance: random.Random, tally: damage.Tally) -> None:
    """Flips bits in copies of the journal that a killed process left, and perhaps takes what was not forced to disk."""
    names = Runs(root).names()
    if not names or not _has_begun(root, names[-1]):
        return
    journal = Runs(root).path(names[-1])
    for _ in range(FLIPS):
        damage.flip(journal, root / "flipped", chance, tally)
    if chance.random() < 0.5:
        damage.cut_power(root, journal, chance, tally)


def _faults(root: Path) -> list[str]:
    """What is wrong with the audit of the last run, beside that it has no end where the process was killed."""
    names = Runs(root).names()
    if not names or not _has_begun(root, names[-1]):
        return []
    with Runs(root).read(names[-1]) as journal:
        audited = audit.read(journal.lines())
        return [*journal.faults(), *(fault.message for fault in audited.faults if not fault.is_end)]


def _has_begun(root: Path, run: str) -> bool:
    """Whether a run was killed after its first entry; before it, there is nothing to go on with."""
    try:
        with Runs(root).read(run) as journal:
            if next(journal.entries("run"), None):
                return True
    except JournalError:
        pass
    for path in (root / ".llmdo" / "runs").glob(f"{run}*"):
        path.unlink()
    return False


def _approve(root: Path, run: str) -> None:
    with Runs(root).open(run) as journal:
        for question in waiting(journal).values():
            answer = {"allowed": True, "by": "bench", "reason": "", "told": "", "expires": None}
            add_answer(journal, question, answer, at_terminal=False)


def _open_calls(root: Path, run: str) -> list[str]:
    """The calls that were killed while they were executed. Their effects, where they had some, are taken back."""
    with Runs(root).read(run) as journal:
        require_ended(journal)  # a command may still have its effect until its guardian has ended it
        calls = list(unfinished_calls(journal))
    log, done = root / "effects.log", _recorded(root, run)
    if calls and log.exists():
        log.write_text("".join(f"{line}\n" for line in log.read_text().splitlines() if line in done))
    return calls


def _recorded(root: Path, run: str) -> set[str]:
    with Runs(root).read(run) as journal:
        contents = [str(entry.data.get("content", "")) for entry in journal.entries("finished")]
    return {name for content in contents for name in re.findall(r"\bdid (\S+)", content)}


def _judged(
    root: Path,
    outcome: dict[str, object],
    expected: tuple[str, int, float],
    kills: int,
    processes: int,
    unfinished: int,
    audited: list[str],
) -> Trial:
    lines = (root / "effects.log").read_text().splitlines()
    wanted = [name for names in EFFECTS.values() for name in names]
    swapped = [me for me, names in EFFECTS.items() if [line for line in lines if line in names] != [*names]]
    usage = outcome["usage"]
    assert isinstance(usage, dict)
    with Runs(root).read(Runs(root).names()[-1]) as journal:
        unheard = sum(spent(journal).unanswered.values())  # they left, so they count
    return Trial(
        kills=kills,
        processes=processes,
        unfinished=unfinished,
        lost=sorted(set(wanted) - set(lines)),
        repeated=sorted({line for line in lines if lines.count(line) > 1}),
        swapped=swapped,
        result=""
        if (outcome["output"], usage["requests"] - unheard) == expected[:2]
        else f"{outcome['output']}, {usage['requests']} requests, {unheard} of them unheard, not {expected[:2]}",
        requests=usage["requests"],
        audit=audited,
    )


def _batch(items: int, kills: int, seconds: float, chance: random.Random) -> int:
    """Prints what became of the items of a batch; the exit code says whether each effect happened once."""
    from bench.fleet import MANIFEST, MODELS

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "w")
        root.mkdir()
        for name, text in {
            "llmdo.toml": MANIFEST,
            "tools.py": housekeeping.TOOLS,
            "models.py": MODELS,
        }.items():
            (root / name).write_text(text)
        (root / "main.worker").write_text("---\nname: main\ntoolsets: [effects]\n---\nGo.\n")
        assert finished(start(root, ["lock"])) == 0, (root / "err.txt").read_text()
        campaign = housekeeping.Campaign(root, items, kills, time.monotonic() + seconds)
        return 0 if housekeeping.over_files(campaign, start, chance) else 1


def main() -> int:
    """Prints what each trial found; the exit code says whether all were like the undisturbed run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0, help="nothing more is begun after so long")
    parser.add_argument(
        "--items", type=int, help="of a batch instead, whose process is killed while runs are pruned"
    )
    options = parser.parse_args()
    if options.items:
        return _batch(options.items, options.kills, options.seconds, random.Random(options.seed))
    chance = random.Random(options.seed)  # moments, not secrets
    kills = trials = open_calls = hung = 0
    wrong: list[Trial] = []
    tally = damage.Tally()
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder, "prepared")
        write_workspace(prepared)
        expected = undisturbed(prepared)
        deadline = time.monotonic() + options.seconds
        while kills < options.kills and time.monotonic() < deadline:
            root = Path(folder, str(trials))
            shutil.copytree(prepared, root, ignore=shutil.ignore_patterns("__pycache__", "*.txt"))
            try:
                result = trial(root, chance, expected, tally)
            except HungError:
                hung += 1
                print(f"run {trials} hung")
                break
            shutil.rmtree(root)
            kills, trials, open_calls = kills + result.kills, trials + 1, open_calls + result.unfinished
            if result.lost or result.repeated or result.swapped or result.audit or result.result:
                wrong.append(result)
                print(result)
    print(
        f"{kills} kills in {trials} runs, {open_calls} tools killed within: {len(wrong)} runs differ, {hung} hung"
    )
    print(
        f"{tally.power_losses} power losses, {tally.refused_wrongly} refused wrongly; {tally.flips} flipped bits,"
        f" {tally.refused} refused, {tally.accepted_damage} accepted damage"
    )
    return 1 if wrong or hung or tally.refused_wrongly or tally.accepted_damage else 0


if __name__ == "__main__":
    sys.exit(main())
