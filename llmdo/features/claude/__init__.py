"""Claude Code: agents, permissions and servers."""

from __future__ import annotations

from llmdo.extensions.spec import OTHERS_REFUSED, Extension, ForeignFormat

IN_PLUGINS = ".claude/plugins/"
AGENTS = (
    "**/.claude/agents/**/*.md", "agents/**/*.md", "plugins/*/agents/**/*.md", "*/agents/**/*.md",
    f"{IN_PLUGINS}*/agents/**/*.md",
)  # fmt: skip
"""Agents, of the project, of projects within it, and of plugins."""
COMMANDS = ("**/.claude/commands/**/*.md", "**/.claude/skills/*/SKILL.md")
ALL_SKILLS = "**/.claude/skills/**/SKILL.md"
"""Skills, also those that Claude Code does not load."""
NESTED_SETTINGS = "**/.claude/settings.json"
SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
PLUGINS = (
    "**/.claude-plugin/plugin.json", "**/.claude-plugin/marketplace.json",
    f"{IN_PLUGINS}**/.claude-plugin/plugin.json", f"{IN_PLUGINS}**/.claude-plugin/marketplace.json",
)  # fmt: skip
FILES = (*AGENTS, *COMMANDS, ALL_SKILLS, NESTED_SETTINGS, *SETTINGS, *PLUGINS)

EXTENSION = Extension(
    name="claude",
    formats={
        "claude": ForeignFormat(
            FILES,
            "llmdo.features.claude",
            "Claude Code",
            in_settings=(*AGENTS[:1], *COMMANDS, NESTED_SETTINGS),
            has_plugins=True,
            own_folder=".claude/",
            plugin=".claude-plugin/plugin.json",
            has_fixed_agents=True,
            hooks_of="claude",
            few_tools="tools: Read, Grep, Glob",
            listed={
                "Bash": ("Bash(git log:*)", OTHERS_REFUSED),
                "WebFetch": ("WebFetch(domain:example.com)", OTHERS_REFUSED),
            },
            unasked={
                ("permissionMode",): "permissionMode: default",
                ("permissions", "defaultMode"): '"defaultMode": "default"',
                ("sandbox", "enabled"): '"autoAllowBashIfSandboxed": false` into `sandbox',
            },
        )
    },
)
