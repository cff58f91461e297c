"""GitHub Copilot, of GitHub and of VS Code: custom agents and prompt files, and chat modes, which are no agents now."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

AGENT, MODE, PROMPT = ".agent.md", ".chatmode.md", ".prompt.md"
"""How the names of its files end; in `.github/agents` every Markdown file is an agent."""
PAGES = frozenset({"copilot-instructions.md", "readme.md"})
"""The files among them that are agents only with a header, in lower case."""
LOOKED_AT = (
    ".github/agents/*.md", f".github/agents/**/*{AGENT}", f".github/chatmodes/**/*{MODE}",
    f".github/prompts/*{PROMPT}", f"agents/**/*{AGENT}", f"*/agents/**/*{AGENT}", f"plugins/**/agents/**/*{AGENT}",
    f"chatmodes/**/*{MODE}", f"prompts/**/*{PROMPT}", f"*{AGENT}", f"*{MODE}", f"*{PROMPT}",
)  # fmt: skip
"""Of a repository, of one of an organisation, of plugins, and of a person's profile."""
HOOKS = ".github/hooks/*.json"
TEXTS = (*LOOKED_AT, f"**/*{AGENT}", f"**/*{MODE}", f"**/*{PROMPT}", f".github/prompts/**/*{PROMPT}")
SETTINGS = (".github/copilot/settings.json", ".github/copilot/settings.local.json")
"""The settings of its command line in a project, with hooks among them, those that hold over others last."""
SHARED = (".claude/settings.json", ".claude/settings.local.json")
"""Settings of Claude Code of which its command line takes the hooks."""
EXTENSIONS = ".github/extensions/*/extension.mjs"
LANGUAGE_SERVERS = ".github/lsp.json"
FILES = (*TEXTS, HOOKS, *SETTINGS, EXTENSIONS, LANGUAGE_SERVERS)

FEW_TOOLS = "tools: [read, search]"
"""A line that gives an agent the tools that only read."""

THERE, CALLED, LENT = " (in VS Code)", " (called)", " (called in VS Code)"
"""The endings of the names of agents as VS Code has them, as others call them there, and with their caller's tools."""

EXTENSION = Extension(
    name="copilot",
    formats={
        "copilot": ForeignFormat(
            FILES,
            "llmdo.features.copilot",
            "GitHub Copilot",
            below=(".github/agents/*.md", ".github/chatmodes/*.md", f".github/prompts/*{PROMPT}", HOOKS),
            has_unwritten_session=True,
            few_tools=FEW_TOOLS,
            knows={"claude": "VS Code knows these names in `.claude/agents` alone"},
            calls_key="agents",
            variants={THERE: "in VS Code alone", CALLED: "", LENT: "in VS Code alone"},
        )
    },
)
