"""What completion knows of the commands.

Made by `python -m llmdo.cli.tabulate`: change the commands.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, Mapping[str, tuple[str, ...] | None]] = {
    "scan": {
        "--format": ("text", "markdown", "json"),
        "--fail-on": (),
    },
    "init": {
        "--template": ("minimal", "delegation", "tools", "chat", "service"),
        "--force": None,
    },
    "check": {
        "--project": (),
        "--locked": None,
        "--strict": None,
        "--fix": None,
        "--no-cache": None,
        "--select": (),
        "--format": ("text", "concise", "json", "github", "gitlab", "junit", "sarif"),
        "--from": (),
    },
    "lock": {
        "--project": (),
        "--check": None,
        "--refresh": None,
        "--offline": None,
        "--allow-downgrade": None,
        "--verbose": None,
    },
    "diff": {
        "--locks": (),
        "--fail-on": ("widened", "changed"),
        "--lock-checked": None,
        "--format": ("text", "json", "markdown"),
        "--verbose": None,
        "--project": (),
        "--from": (),
    },
    "explain": {
        "--from": (),
    },
    "suggest": {
        "--project": (),
        "--from-runs": None,
    },
    "graph": {
        "--select": (),
        "--format": ("text", "mermaid", "dot", "json"),
        "--project": (),
        "--from": (),
    },
    "reach": {
        "--select": (),
        "--format": ("text", "json", "markdown"),
        "--project": (),
        "--from": (),
    },
    "why": {
        "--all": None,
        "--project": (),
        "--from": (),
    },
    "run": {
        "--entry": (),
        "--project": (),
        "--input": (),
        "--continue": (),
        "--path": (),
        "--attach": (),
        "--model": (),
        "--env-file": (),
        "--max-depth": (),
        "--locked": None,
        "--approvals": ("prompt", "later"),
        "--approve": (),
        "--approve-all": None,
        "--reject-all": None,
        "--no-journal": None,
        "--all-tools": None,
        "--verbose": None,
        "--log-events": (),
        "--trace-dir": (),
        "--trace-content": None,
        "--trace-binary": None,
        "--debug": None,
        "--format": ("text", "json"),
    },
    "chat": {
        "--project": (),
        "--continue": (),
        "--model": (),
        "--env-file": (),
        "--locked": None,
        "--approve": (),
        "--approve-all": None,
        "--reject-all": None,
        "--verbose": None,
        "--log-events": (),
        "--debug": None,
    },
    "resume": {
        "--project": (),
        "--allow-drift": (),
        "--sources": ("workspace", "run"),
        "--again": (),
        "--give-up": (),
        "--limit": (),
        "--env-file": (),
        "--approvals": ("prompt", "later"),
        "--approve": (),
        "--approve-all": None,
        "--reject-all": None,
        "--verbose": None,
        "--log-events": (),
        "--trace-dir": (),
        "--debug": None,
        "--format": ("text", "json"),
    },
    "replay": {
        "--project": (),
        "--env-file": (),
        "--until": (),
        "--rerun-tools": None,
        "--sources": ("workspace", "run"),
        "--verbose": None,
        "--log-events": (),
        "--format": ("text", "json"),
    },
    "approve": {
        "--project": (),
        "--env-file": (),
        "--yes": (),
        "--no": (),
        "--reason": (),
        "--by": (),
        "--hours": (),
        "--answers": (),
        "--format": ("text", "json"),
    },
    "audit": {
        "--verify": None,
        "--head": (),
        "--format": ("text", "json", "jsonl"),
        "--project": (),
    },
    "test": {
        "--project": (),
        "--decisions": None,
        "--sources": ("workspace", "run"),
        "--format": ("text", "json", "junit"),
    },
    "import": {
        "--to": (),
    },
    "schema": {},
    "doctor": {
        "--format": ("text", "json"),
        "--project": (),
    },
    "completion": {},
    "add worker": {
        "--toolset": (),
        "--description": (),
        "--entry": None,
        "--path": (),
        "--project": (),
    },
    "add toolset": {
        "--python": (),
        "--project": (),
    },
    "add mcp": {
        "--url": (),
        "--env": (),
        "--project": (),
    },
    "add entry": {
        "--worker": (),
        "--input": (),
        "--project": (),
    },
    "add path": {
        "--project": (),
    },
    "add rule": {
        "--project": (),
    },
    "remove worker": {
        "--project": (),
    },
    "remove toolset": {
        "--project": (),
    },
    "remove entry": {
        "--project": (),
    },
    "remove path": {
        "--project": (),
    },
    "remove rule": {
        "--project": (),
    },
    "runs list": {
        "--project": (),
        "--entry": (),
        "--status": (),
        "--limit": (),
        "--turns": None,
        "--format": ("text", "json"),
    },
    "runs show": {
        "--project": (),
        "--format": ("text", "json", "markdown"),
    },
    "runs prune": {
        "--project": (),
        "--keep": (),
        "--older-than": (),
        "--dry-run": None,
    },
    "runs export": {
        "--project": (),
        "--no-sources": None,
    },
    "runs import": {
        "--project": (),
    },
    "serve mcp": {
        "--http": (),
        "--model": (),
        "--project": (),
        "--env-file": (),
    },
}
"""Every command with its long options but `--help`, and what each may be; None where it takes no value."""

ARGUMENTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "schema": (("manifest", "worker", "lock", "policy"),),
    "completion": (("bash", "zsh", "fish"),),
    "add rule": ((), ("allowed", "needs_approval", "blocked")),
}
"""What the arguments of a command may be, by their positions, where it is one of a few words."""
