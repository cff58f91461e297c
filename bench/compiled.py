"""Holds the readers of gh-aw against its compiler: each workflow's `.md` against the `.lock.yml` beside it.

python -m bench.compiled FOLDER...

Each folder is a repository. Three readings of a workflow have to agree about its shell, the writing of files, GitHub's
server, its safe outputs and the hosts that it sends to: that of the `.md`, that of the lock alone, and the plain words
of the lock, searched without a reader of ours. A named set of hosts in the `.md` stands for at least one in the lock.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.features.github_actions.firewall import OF_EVERY_LOCK

if TYPE_CHECKING:
    from llmdo.foreign.team import Agent

FACTS = ("shell", "writes", "github", "outputs")
WORKFLOWS = Path(".github/workflows")
_JOB = re.compile(r"^  (?P<name>[\w-]+):[ ]*\n(?P<text>(?:(?:    .*|[ ]*)\n)*)", re.MULTILINE)
_DOMAINS = re.compile(r'--allow-domains[ =]\W?([^"\'\s]+)|allowDomains\\*":\[([^\]]*)\]')
_ABOUT_THE_RUN = {
    "create_report_incomplete_issue",
    "missing_data",
    "missing_tool",
    "noop",
    "report_incomplete",
}


@dataclass(frozen=True)
class Facts:
    """What one reading says about a workflow."""

    shell: bool
    writes: bool
    github: bool
    outputs: frozenset[str]
    hosts: frozenset[str]

    def differences(self, lock: Facts) -> list[str]:
        """The facts of a `.md` that its lock does not bear out, by name."""
        wrong = [name for name in FACTS if getattr(self, name) != getattr(lock, name)]
        listed = {host for host in self.hosts if "." in host}
        others = {host for host in lock.hosts if not any(_is_below(host, each) for each in listed)}
        sets = self.hosts - listed
        if not all(
            any(_is_below(each, host) or _is_below(host, each) for each in lock.hosts) for host in listed
        ):
            wrong.append("hosts")
        elif bool(others) != bool(sets):
            wrong.append("sets of hosts")
        return wrong


def _is_below(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def of_agent(agent: Agent) -> Facts:
    """The facts as a reader of ours has them."""
    raised = {each for grant in agent.grants for each in grant.capabilities}
    named = {each.name for each in raised}
    tools = {grant.tool for grant in agent.grants}
    return Facts(
        shell="proc.exec.unlisted" in named,
        writes="fs.write" in named,
        github="github" in tools,
        outputs=frozenset(_output(tool) for tool in tools if tool.startswith("safe-outputs.")),
        hosts=frozenset(
            each.scope or "every host"
            for grant in agent.grants
            if not grant.tool.startswith("safe-outputs.") and grant.server is None
            for each in grant.capabilities
            if each.name == "net.connect"
        ),
    )


def _output(tool: str) -> str:
    return tool.removeprefix("safe-outputs.").replace("_", "-")


def of_words(lock: str) -> Facts | None:
    """The facts by the words of a lock's job `agent`; None for an engine other than Copilot's command line."""
    job = next((job["text"] for job in _JOB.finditer(lock) if job["name"] == "agent"), "")
    if "copilot_harness" not in job and "/copilot " not in job:
        return None
    allowed = _DOMAINS.search(job)
    hosts = re.findall(r"[\w*.-]+", "".join(filter(None, allowed.groups()))) if allowed else []
    config = re.search(r"safeoutputs/config\.json.*\n\s*(\{.*\})", job)
    outputs = json.loads(config[1]) if config else {}
    return Facts(
        shell="--allow-all-tools" in job,
        writes="--allow-all-paths" in job or "--allow-tool write" in job,
        github='"github": {' in job or "start_cli_proxy" in job,
        outputs=frozenset(name.replace("_", "-") for name in outputs if name not in _ABOUT_THE_RUN),
        # A lock has the registries of packages that its engine is installed from, which its `.md` does not name.
        hosts=frozenset(host.removeprefix("*.") for host in hosts if not host.startswith("registry."))
        - OF_EVERY_LOCK,
    )


def compared(folder: Path, seen: Counter[bool]) -> list[str]:
    """The differences in a repository, a line each; `seen` counts the locks by whether they were compared."""
    team = foreign.read("gh-aw", folder, may_be_empty=True).team
    elsewhere = {problem.at.path for problem in team.problems if problem.code == "LDO250"}
    written = {agent.path: of_agent(agent) for agent in team.agents if agent.path not in elsewhere}
    with tempfile.TemporaryDirectory() as alone:
        (Path(alone) / WORKFLOWS).mkdir(parents=True)
        for lock in (folder / WORKFLOWS).glob("*.lock.yml"):
            shutil.copy(lock, Path(alone) / WORKFLOWS)
        agents = foreign.read("github-actions", Path(alone), may_be_empty=True).team.agents
        compiled = {agent.name: of_agent(agent) for agent in agents}
    lines = []
    for lock in sorted((folder / WORKFLOWS).glob("*.lock.yml")):
        name = lock.name.removesuffix(".lock.yml")
        words, source = of_words(lock.read_text(encoding="utf-8")), written.get(f"{WORKFLOWS}/{name}.md")
        seen[words is not None and source is not None] += 1
        if words is None or source is None:
            continue
        alone_read = compiled.get(f"{name}.lock/agent")
        wrong = [f"`.md`: {each}" for each in source.differences(words)]
        wrong += [f"lock: {each}" for each in alone_read.differences(words)] if alone_read else ["lock"]
        lines += [f"{folder.name}/{name}: {', '.join(wrong)}"] if wrong else []
    return lines


def main() -> None:
    """Prints the workflows about which the readings differ; fails where there are any, or nothing was compared."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    seen: Counter[bool] = Counter()
    lines = [line for folder in parser.parse_args().folders for line in compared(folder, seen)]
    print("\n".join(lines))
    print(f"{seen[True]} workflows compared, {len(lines)} differ")
    print(
        f"{seen[False]} left out: of another engine, without an agent, or without a `.md` whose imports are known"
    )
    sys.exit(bool(lines) or not seen[True])


if __name__ == "__main__":
    main()
