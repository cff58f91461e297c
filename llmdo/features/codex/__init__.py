"""Codex: a session by `config.toml`, with agents, profiles and rules about commands."""

from __future__ import annotations

from llmdo.extensions.spec import Extension, ForeignFormat

FOLDER = ".codex/"
CONFIG = f"{FOLDER}config.toml"
PROFILES = f"{FOLDER}*.config.toml"
AGENTS = f"{FOLDER}agents/**/*.toml"
RULES = f"{FOLDER}rules/*.rules"
HOOKS = f"{FOLDER}hooks.json"
ENVIRONMENTS = f"{FOLDER}environments/*.toml"
FILES = (CONFIG, AGENTS, RULES, PROFILES, HOOKS, ENVIRONMENTS)

_SHELL = ("Bash",)

EXTENSION = Extension(
    name="codex",
    formats={
        "codex": ForeignFormat(
            FILES,
            "llmdo.features.codex",
            "Codex",
            below=FILES,
            has_sandbox=True,
            named_in_hooks={
                "shell": _SHELL,
                "unsandboxed *": _SHELL,
                "apply_patch": ("apply_patch", "Edit", "Write"),
            },
        )
    },
)
