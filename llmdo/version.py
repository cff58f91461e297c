"""The version of llmdo, readable without importing anything else."""

__version__ = "0.2.0"
