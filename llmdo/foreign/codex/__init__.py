"""Codex: a session by `config.toml`, with agents, profiles and rules about commands."""

from __future__ import annotations

FOLDER = ".codex/"
CONFIG = f"{FOLDER}config.toml"
PROFILES = f"{FOLDER}*.config.toml"
AGENTS = f"{FOLDER}agents/**/*.toml"
RULES = f"{FOLDER}rules/*.rules"
FILES = (CONFIG, AGENTS, RULES, PROFILES)
