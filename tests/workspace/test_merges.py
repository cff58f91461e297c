"""Two branches edit a workspace, git merges it: a lock that merges without a conflict is right, or called stale."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from llmdo import checks
from llmdo.base.source import Source
from llmdo.graph.resolved import Graph
from llmdo.workspace import lock, project
from tests.support.laws import share

Files = dict[str, str]

CAPABILITIES = [
    "fs.read",
    "fs.write:out/**",
    "fs.list",
    "net.connect",
    "proc.exec",
    "x.calc.cpu",
    "agent.delegate",
]
DECISIONS = ["needs_approval", "blocked", "allowed"]
TOOLSETS = ["filesystem", "calc", "fetch"]


def new_team(chance: random.Random) -> dict[str, Any]:
    names = [f"w{number}" for number in range(chance.randint(3, 9))]
    team: dict[str, Any] = {"rules": {}, "entries": {}, "workers": {}, "accept": [], "depth": 5, "tools": {}}
    for name in names:
        team["workers"][name] = new_worker(chance, names)
    for name in names[:2]:
        team["entries"][f"go-{name}"] = {"worker": name, "may": [], "requests": 5}
    for capability in chance.sample(CAPABILITIES, 3):
        team["rules"][capability] = chance.choice(DECISIONS)
    team["tools"] = {"calc": ["x.calc.cpu"], "fetch": ["net.connect"]}
    return team


def new_worker(chance: random.Random, names: list[str]) -> dict[str, Any]:
    return {
        "uses": {name: {} for name in chance.sample([*names, *TOOLSETS], 3)},
        "may": chance.sample(CAPABILITIES, 2) if chance.random() < 0.3 else [],
        "approvals": {},
        "prompt": [f"Line {number}." for number in range(8)],
        "description": "Does it.",
    }


def edit(team: dict[str, Any], chance: random.Random, branch: str) -> None:
    """One change that a person might make."""
    name = chance.choice(sorted(team["workers"]))
    worker = team["workers"][name]
    capability = chance.choice(CAPABILITIES)
    match chance.randrange(11):
        case 0 | 1:
            other = chance.choice(sorted(team["workers"]))
            worker["uses"].pop(other, None) if other in worker["uses"] else worker["uses"].update({other: {}})
        case 2:
            toolset = chance.choice(TOOLSETS)
            worker["uses"].pop(toolset, None) if toolset in worker["uses"] else worker["uses"].update(
                {toolset: {}}
            )
        case 3:
            if "filesystem" in worker["uses"]:
                worker["uses"]["filesystem"] = {
                    "read": [f"in/{chance.randint(0, 2)}/**"],
                    "write": ["out/**"],
                }
        case 4:
            worker["approvals"][capability] = chance.choice(DECISIONS[:2])
        case 5:
            toggle(worker["may"], capability)
        case 6:
            worker["prompt"][chance.randrange(len(worker["prompt"]))] = (
                f"Changed by {branch}, {chance.random()}."
            )
        case 7:
            fresh = f"{chance.choice('acmz')}{branch}{chance.randrange(9)}"
            team["workers"].setdefault(fresh, new_worker(chance, sorted(team["workers"])))
        case 8:
            leave(team, name)
        case 9:
            decision = chance.choice([None, *DECISIONS])
            team["rules"].pop(capability, None) if decision is None else team["rules"].update(
                {capability: decision}
            )
        case 10:
            edit_manifest(team, chance, branch)


def edit_manifest(team: dict[str, Any], chance: random.Random, branch: str) -> None:
    entry = team["entries"][chance.choice(sorted(team["entries"]))]
    match chance.randrange(5):
        case 0:
            toggle(entry["may"], chance.choice(CAPABILITIES))
        case 1:
            entry["requests"] = chance.randint(1, 9)
        case 2:
            team["depth"] = chance.randint(3, 7)
        case 3:
            team["accept"].append((f"LDO50{chance.randint(1, 7)}", f"{branch} says so"))
        case 4:
            toggle(
                team["tools"][chance.choice(sorted(team["tools"]))],
                chance.choice(["env.read", "secret.read"]),
            )


def toggle(items: list[str], item: str) -> None:
    items.remove(item) if item in items else items.append(item)


def leave(team: dict[str, Any], name: str) -> None:
    """The worker `name` goes, with all that names it; not the last ones, and none that an entry starts."""
    if len(team["workers"]) > 2 and name not in {entry["worker"] for entry in team["entries"].values()}:
        del team["workers"][name]
        for worker in team["workers"].values():
            worker["uses"].pop(name, None)


def files_of(team: dict[str, Any]) -> Files:
    lines = ["schema = 1", "", "[workspace]", 'name = "w"', 'workers = ["workers/*.worker"]']
    lines += ['toolset-modules = ["tools/*.py"]', f"max-depth = {team['depth']}", "", "[approvals.rules]"]
    lines += [f'"{name}" = "{decision}"' for name, decision in sorted(team["rules"].items())]
    for name, entry in sorted(team["entries"].items()):
        lines += ["", f"[entries.{name}]", f'worker = "{entry["worker"]}"']
        lines += ["may = [", *(f'    "{pattern}",' for pattern in sorted(entry["may"])), "]"]
        lines += [f"limits = {{ requests = {entry['requests']} }}"]
    for code, reason in team["accept"]:
        lines += ["", "[[check.accept]]", f'code = "{code}"', f'reason = "{reason}"']
    files = {"llmdo.toml": "\n".join(lines) + "\n"}
    for name, worker in team["workers"].items():
        files[f"workers/{name}.worker"] = worker_file(name, worker)
    for name, declared in team["tools"].items():
        files[f"tools/{name}.py"] = (
            f"from pydantic_ai.toolsets import FunctionToolset\n\n{name} = FunctionToolset()\n\n\n"
            f'@{name}.tool_plain(metadata={{"capabilities": {json.dumps(declared)}}})\n'
            f"def act_{name}() -> str:\n    return ''\n"
        )
    return files


def worker_file(name: str, worker: dict[str, Any]) -> str:
    lines = ["---", f"name: {name}", f"description: {worker['description']}", "recursive: true", "toolsets:"]
    lines += [f"  {used}: {json.dumps(config)}" for used, config in sorted(worker["uses"].items())] or [
        "  {}"
    ]
    lines += [
        "approvals:",
        *(f"  {pattern}: {decision}" for pattern, decision in sorted(worker["approvals"].items())),
    ]
    lines[-1:] = lines[-1:] if worker["approvals"] else ["approvals: {}"]
    if worker["may"]:
        lines += ["may:", *(f"  - {pattern}" for pattern in sorted(worker["may"]))]
    return "\n".join([*lines, "---", *worker["prompt"]]) + "\n"


def write(root: Path, files: Files) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def merged_text(folder: Path, base: str | None, ours: str | None, theirs: str | None) -> str | None:
    """What git makes of three versions of a file, None where it is gone.

    Raises:
        ValueError: there is a conflict.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        raise ValueError("changed here and gone there")
    names = ("ours", "base", "theirs")
    for name, text in zip(names, (ours, base or "", theirs), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "merge-file", "-p", *names], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode >= 0, done.stderr
    if done.returncode:
        raise ValueError("conflict")
    return done.stdout


def merged_files(folder: Path, base: Files, ours: Files, theirs: Files) -> Files:
    merged = {
        path: merged_text(folder, base.get(path), ours.get(path), theirs.get(path))
        for path in sorted({*base, *ours, *theirs})
    }
    return {path: text for path, text in merged.items() if text is not None}


def graph_of(root: Path, files: Files) -> tuple[Graph, bool]:
    """The graph of `files`, and whether `llmdo lock` would lock it."""
    write(root, files)
    read = project.read(root)
    errors = [finding for finding in checks.check(read, locked=True) if finding.severity == "error"]
    return read.graph, all(finding.code.startswith(("LDO4", "LDO5")) for finding in errors)


def one_merge(chance: random.Random, folder: Path) -> str:
    """How a merge of two random branches ended."""
    base = new_team(chance)
    branches = []
    for branch in ("ours", "theirs"):
        team = deepcopy(base)
        for _ in range(chance.randint(1, 5)):
            edit(team, chance, branch)
        branches.append(team)
    versions = [files_of(team) for team in (base, *branches)]
    graphs = [graph_of(folder / str(number), files) for number, files in enumerate(versions)]
    assert all(is_sound for _, is_sound in graphs)
    try:
        sources = merged_files(folder, *versions)
    except ValueError:
        return "sources conflict"
    right, is_sound = graph_of(folder / "merged", sources)
    if not is_sound:
        return "sources do not fit together"
    try:
        text = merged_text(folder, *(lock.dump(graph) for graph, _ in graphs))
    except ValueError:
        return "lock conflicts"
    if lock.read(Source("llmdo.lock", text or "")).graph == right:
        return "lock is right"
    write(folder / "merged", {"llmdo.lock": text or ""})
    findings = checks.check(project.read(folder / "merged"), locked=True)
    assert any(finding.code in ("LDO401", "LDO405") and finding.severity == "error" for finding in findings)
    return "lock is wrong and called stale"


def merges(number: int, seed: int, tmp_path: Path) -> Counter[str]:
    ends: Counter[str] = Counter()
    for index in range(number):
        folder = tmp_path / str(index)
        folder.mkdir()
        ends[one_merge(random.Random(f"{seed}-{index}"), folder)] += 1
    print(dict(ends))
    return ends


@pytest.mark.long
def test_a_lock_that_merges_cleanly_is_the_lock_of_the_merged_sources(tmp_path: Path) -> None:
    ends = merges(20, 1, tmp_path)
    assert ends["lock is right"] >= 5
    assert not ends["lock is wrong and called stale"]


@pytest.mark.long
def test_none_of_many_merges_is_clean_but_wrong(tmp_path: Path) -> None:
    ends = merges(share(300), 2, tmp_path)
    assert ends["lock is right"] >= share(100)
    assert not ends["lock is wrong and called stale"]


def test_where_the_lock_of_a_clean_merge_cannot_be_right_it_is_called_stale(tmp_path: Path) -> None:
    # One branch begins to import a file that the other one edits: no lock of either holds what both make.
    tool = files_of({**new_team(random.Random(0)), "tools": {"calc": ["x.calc.cpu"], "fetch": []}})
    base = {**tool, "shared.py": "VALUE = 1\n"}
    ours = {**base, "tools/calc.py": "import shared  # noqa\n" + base["tools/calc.py"]}
    theirs = {**base, "shared.py": "VALUE = 2\n"}
    locks = [
        lock.dump(graph_of(tmp_path / name, files)[0])
        for name, files in (("base", base), ("ours", ours), ("theirs", theirs))
    ]
    merged = merged_files(tmp_path, base, ours, theirs)
    text = merged_text(tmp_path, *locks)
    write(tmp_path / "merged", {**merged, "llmdo.lock": text or ""})
    findings = checks.check(project.read(tmp_path / "merged"), locked=True)
    assert {
        finding.code
        for finding in findings
        if finding.severity == "error" and finding.code.startswith("LDO4")
    } == {"LDO401"}
