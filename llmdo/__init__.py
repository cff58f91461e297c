"""llmdo: a compiler, lockfile and runner for teams of LLM agents."""

from llmdo.version import __version__

__all__ = ["__version__"]
