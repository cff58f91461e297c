"""The built-in `shell` as far as authority is concerned: words, shell rules, and what a command raises.

Nothing here starts a program or looks at a disk: `check` judges by it, and the toolset decides by it. A shell
rule vouches for a program *with its arguments*; a name alone vouches for nothing. `words`, which splits a command
line, is imported by what has one.
"""

from llmdo.policy.shell.rules import (
    IsolationMode,
    ShellLimits,
    ShellRule,
    ShellSettings,
    Vouching,
    parse_rules,
)

__all__ = [
    "IsolationMode",
    "ShellLimits",
    "ShellRule",
    "ShellSettings",
    "Vouching",
    "parse_rules",
]
