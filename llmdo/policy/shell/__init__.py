"""The authority side of the built-in `shell`: words, shell rules, and the capabilities that a command raises.

Nothing here starts a program or looks at a disk: `check` and the toolset decide by it. A shell rule vouches for a
program *with its arguments*, never for a name alone. `words`, which splits a command line, is imported only by modules
that have one.
"""

from llmdo.policy.shell.rules import (
    ShellLimits,
    ShellRule,
    ShellSettings,
    Vouching,
    parse_rules,
)

__all__ = [
    "ShellLimits",
    "ShellRule",
    "ShellSettings",
    "Vouching",
    "parse_rules",
]
