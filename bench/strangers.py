"""Findings drawn from projects that nobody had looked at while llmdo was written, to be judged by hand.

python -m bench.strangers FOLDER --sample first [--number 100] [--seed 1] [--code LDO552] [--lines 2]

`strangers.toml` names the projects of each sample with their commits; FOLDER holds the files of each at its commit, as
OWNER+NAME. Projects take turns, and so do the codes within each, so that neither one large project nor one note of
which there are a hundred makes up the sample. `--code` takes all findings of one code. `--made` makes the edits of all
hints in copies instead, and prints each that does not do what it says, and each that could not be made.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.base.diagnostic import LlmdoError, place
from llmdo.extensions.spec import AUTO
from llmdo.foreign import findings
from tests.support.finding_hints import of_findings
from tests.support.hints import of_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location

PROJECTS = Path(__file__).with_suffix(".toml")


def findings_in(folder: Path) -> tuple[Diagnostic, ...]:
    """The findings of one project; none where nothing of a known format is there."""
    try:
        return findings.check(foreign.read(AUTO, folder))
    except LlmdoError as error:
        print(f"{folder.name}: {error}")
        return ()


def drawn(of_projects: Mapping[str, Sequence[Diagnostic]], seed: int) -> Iterator[tuple[str, Diagnostic]]:
    """All findings in the order of the draw: projects in turns, within each its codes in turns."""
    chance = random.Random(seed)
    queues: dict[str, list[Diagnostic]] = {}
    for name, all_of_it in of_projects.items():
        by_code: dict[str, list[Diagnostic]] = defaultdict(list)
        for each in chance.sample(all_of_it, len(all_of_it)):
            by_code[each.code].append(each)
        turns = [(number, code) for code, those in by_code.items() for number in range(len(those))]
        queues[name] = [by_code[code][number] for number, code in sorted(turns)]
    for turn in range(max(map(len, queues.values()), default=0)):
        names = [name for name, queue in queues.items() if len(queue) > turn]
        for name in chance.sample(names, len(names)):
            yield name, queues[name][turn]


def cited(root: Path, location: Location, around: int) -> Iterator[str]:
    """The lines that a finding or one of its places cites."""
    if location.span is None or not (root / location.path).is_file():
        return
    at = location.span.line
    lines = (root / location.path).read_text(encoding="utf-8", errors="replace").split("\n")
    for number in range(max(1, at - around), min(len(lines), at + around) + 1):
        yield f"      {number:>5} {'>' if number == at else ' '} {lines[number - 1][:200]}"


def print_made(folder: Path, names: Sequence[str]) -> None:
    """Prints the hints whose edits, made in a copy, do not do what they say."""
    counts = {
        "hints of flows": 0,
        "other hints made": 0,
        "only explain": 0,
        "not as they say": 0,
        "not made": 0,
    }
    for name in names:
        root = folder / name.replace("/", "+")
        with tempfile.TemporaryDirectory() as copies:
            try:
                project = foreign.read(AUTO, root)
                number, wrong, unmade = of_project(root, project, Path(copies))
                others = of_findings(root, project, Path(copies), together=True)
            except LlmdoError as error:
                print(f"{name}: {error}")
                continue
        wrong, unmade = [*wrong, *others.wrong], [*unmade, *others.unmade]
        made = (number, others.made, others.explained, len(wrong), len(unmade))
        for key, more in zip(counts, made, strict=True):
            counts[key] += more
        for text in wrong:
            print(f"{name} {text}")
        for text in unmade:
            print(f"{name} not made: {text}", flush=True)
    print(", ".join(f"{number} {key}" for key, number in counts.items()))


def main() -> None:
    """Prints the findings that were drawn, each with its hint and the lines that it cites."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", default="first")
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code", help="all findings of this code in place of a draw")
    parser.add_argument("--lines", type=int, default=2, help="lines around each that is cited")
    parser.add_argument(
        "--made", action="store_true", help="make the edits of hints in copies in place of a draw"
    )
    chosen = parser.parse_args()
    names = tomllib.loads(PROJECTS.read_text(encoding="utf-8"))[chosen.sample]
    if chosen.made:
        print_made(chosen.folder, list(names))
        return
    of_projects = {name: findings_in(chosen.folder / name.replace("/", "+")) for name in names}
    if chosen.code:
        of_projects = {
            name: tuple(each for each in those if each.code == chosen.code)
            for name, those in of_projects.items()
        }
    number = sum(map(len, of_projects.values())) if chosen.code else chosen.number
    print(
        f"{sum(map(len, of_projects.values()))} findings in {sum(map(bool, of_projects.values()))} projects"
    )
    for index, (name, each) in zip(range(1, number + 1), drawn(of_projects, chosen.seed), strict=False):
        root = chosen.folder / name.replace("/", "+")
        print(f"\n#{index} {name} {place(each.at)} {each.severity}[{each.code}]: {each.message}")
        if each.hint:
            print(f"   = {each.hint}")
        for line in cited(root, each.at, chosen.lines):
            print(line)
        for related in each.related:
            print(f"   {place(related.at)}: {related.message}")
            for line in cited(root, related.at, chosen.lines):
                print(line)


if __name__ == "__main__":
    main()
