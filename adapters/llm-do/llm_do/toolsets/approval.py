"""Approvals that tools give themselves. With llmdo the rules in `llmdo.toml` decide, and these say nothing."""

from __future__ import annotations

from typing import Any


def set_toolset_approval_config(toolset: Any, config: dict[str, dict[str, Any]]) -> Any:
    """The toolset, as it was."""
    return toolset


def get_toolset_approval_config(toolset: Any) -> dict[str, dict[str, Any]] | None:
    """Nothing."""
    return None
