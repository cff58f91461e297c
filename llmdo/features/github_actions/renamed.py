"""Programs that a job puts on the path under the name of a client: whatever is run by that name is then another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.features.github_actions.workflow import PROGRAMS, filled
from llmdo.foreign.scripts import commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.features.github_actions.workflow import AgentRun

_CLIENTS = {program: package for package, program in PROGRAMS.items()} | {
    "cursor-agent": "cursor.com/install"
}
"""What installs each client."""
_PUTS = frozenset({"cp", "install", "ln", "mv"})
_LOOKED_UP = re.compile(r"\$\(\s*(?:command -v|type -[pP]|which)\s+([\w.-]+)\s*\)")
_ON_THE_PATH = re.compile(r"[/~$].*/bin/(?P<name>[\w-]+)", re.DOTALL)
_STANDS_IN = re.compile(r"(?:^|[-_.])(?:dummy|fake|mock|stub)(?:[-_.]|$)")
"""The name of a program that is there for tests."""


def renamed_in(steps: Iterable[Mapping[str, object]], inputs: Mapping[str, str]) -> dict[str, str]:
    """The programs that steps put on the path, by the name of a client that each gets.

    Where the client itself is installed as well it is not known which one runs, so it counts.
    """
    scripts = [filled(text(table(step).get("run")), inputs) for step in steps]
    renamed = {name: program for script in scripts for name, program in _renamed(script)}
    return {
        name: program
        for name, program in renamed.items()
        if not any(_CLIENTS[name] in script for script in scripts)
    }


def is_renamed(run: AgentRun, renamed: Mapping[str, str]) -> bool:
    """Whether a run is one of a program that only has the name of a client."""
    by_name = run.words[:1] == (run.program,) or any(map(_ON_THE_PATH.fullmatch, run.words[:1]))
    return by_name and run.program in renamed


def _renamed(script: str) -> Iterable[tuple[str, str]]:
    """The names of clients that a script gives to other programs."""
    if not any(name in script for name in _CLIENTS):
        return
    for words in commands(_LOOKED_UP.sub(r"\1", script)):
        plain = [word for word in words[1:] if not word.startswith("-")]
        target = _ON_THE_PATH.fullmatch(plain[-1]) if len(plain) > 1 and words[0] in _PUTS else None
        if target and target["name"] in _CLIENTS and _is_other(target["name"], plain[-2]):
            yield target["name"], plain[-2]


def _is_other(name: str, path: str) -> bool:
    """Whether a path is certainly not that of a client: nothing in it is called as that is."""
    program = path.rstrip("/").rpartition("/")[2]
    if _STANDS_IN.search(program):
        return True
    return "$" not in program and name.partition("-")[0] not in path
