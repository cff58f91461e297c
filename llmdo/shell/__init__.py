"""The built-in `shell` as far as authority is concerned: words, shell rules, and what a command raises.

Nothing here starts a program or looks at a disk: `check` judges by it, and the toolset decides by it. A shell
rule vouches for a program *with its arguments*; a name alone vouches for nothing.
"""

from llmdo.shell.rules import IsolationMode, ShellLimits, ShellRule, ShellSettings, Vouching, parse_rules
from llmdo.shell.words import CommandRefused, program_of, words

__all__ = [
    "CommandRefused",
    "IsolationMode",
    "ShellLimits",
    "ShellRule",
    "ShellSettings",
    "Vouching",
    "parse_rules",
    "program_of",
    "words",
]
