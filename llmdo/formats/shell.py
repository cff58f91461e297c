"""The shell rules in `[toolsets.shell]`, a worker's `shell` and the lock."""
# ruff: noqa: UP013  # as in `llmdo.formats.documents`

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from annotated_types import Gt, MinLen
from typing_extensions import TypedDict

from llmdo.formats.fields import EMPTIABLE, STRICT, Doc, Matches, Positive, Variable

PlainWord = Annotated[
    str, Matches(r"^[^*?\[\]\x00-\x20\x7f]+$", "a plain word (without blanks, `*`, `?`, `[` and `]`)")
]
Flag = Annotated[
    str,
    Matches(
        r"^-[^*?\[\]\x00-\x20\x7f]*$", "an option as one word (`-n`, `--name` or, with any value, `--name=`)"
    ),
]
Command = Annotated[list[str], MinLen(1)]
Preset = Literal["git-read", "read-only"]

ShellRule = TypedDict(
    "ShellRule",
    {
        "run": Annotated[
            list[PlainWord],
            MinLen(1),
            Doc("The first words of the command: a program's bare name, and more."),
        ],
        "flags": NotRequired[
            Annotated[
                list[Flag],
                Doc(
                    "The options that may follow, each as one exact word; `-n=` and `--name=` take any value."
                ),
            ]
        ],
        "positional": NotRequired[
            Annotated[
                Literal["none", "paths", "any"],
                Doc("What other words may follow; none where left out. Paths lie inside the workspace."),
            ]
        ],
        "capability": NotRequired[
            Annotated[
                Literal["proc.exec", "proc.exec.read"],
                Doc("What such a command raises; proc.exec where left out."),
            ]
        ],
        "reads": NotRequired[
            Annotated[
                Literal["named", "workspace"],
                Doc("Whether it reads the paths that it is given, or anything in the workspace."),
            ]
        ],
        "match": NotRequired[
            Annotated[list[Command], Doc("Commands that the rule vouches for; check judges them.")]
        ],
        "not-match": NotRequired[
            Annotated[list[Command], Doc("Commands that it does not vouch for; check judges them.")]
        ],
    },
)

ShellLimits = TypedDict(
    "ShellLimits",
    {
        "seconds": NotRequired[Annotated[float, Gt(0), Doc("The longest time; 120 where left out.")]],
        "output-bytes": NotRequired[
            Annotated[Positive, Doc("What is kept of each of its two outputs; 100,000 where left out.")]
        ],
        "memory-mb": NotRequired[
            Annotated[Positive, Doc("Address space of each process; 4,096 where left out.")]
        ],
        "file-mb": NotRequired[
            Annotated[Positive, Doc("The largest file it may write; 100 where left out.")]
        ],
        "files": NotRequired[
            Annotated[Positive, Doc("Files open at once in each process; 1,024 where left out.")]
        ],
        "processes": NotRequired[Annotated[Positive, Doc("Processes at once; 256 where left out.")]],
    },
)

ShellTable = TypedDict(
    "ShellTable",
    {
        "rules": NotRequired[
            Annotated[list[ShellRule], Doc("Commands that are vouched for; all others ask or are blocked.")]
        ],
        "presets": NotRequired[Annotated[list[Preset], Doc("Groups of rules that come with llmdo.")]],
        "isolation": NotRequired[
            Annotated[
                Literal["auto", "require", "off"],
                Doc(
                    "Whether commands run under bubblewrap: where it works (auto), or else not at all (require)."
                ),
            ]
        ],
        "env": NotRequired[
            Annotated[list[Variable], Doc("Names of environment variables that commands are given.")]
        ],
        "limits": NotRequired[Annotated[ShellLimits, Doc("What one command may use.")]],
    },
)

ShellConfig = TypedDict(
    "ShellConfig",
    {
        "rules": NotRequired[
            Annotated[
                list[ShellRule], Doc("Vouch for a command only where a rule of the manifest does as well.")
            ]
        ],
        "presets": NotRequired[Annotated[list[Preset], Doc("Groups of such rules.")]],
    },
)

_WORD = r"[^*?\[\]\x00-\x20\x7f]+"
LockedShellRule = Annotated[
    str,
    Matches(
        rf"^{_WORD}(?: {_WORD})* \[(?:-[^*?\[\]\x00-\x20\x7f]*(?: -[^*?\[\]\x00-\x20\x7f]*)*)?\] "
        r"(?:none|paths|any) (?:named|workspace) -> proc\.exec(?:\.read)?$",
        "a shell rule as the lock writes it",
    ),
]
LockedShell = TypedDict(
    "LockedShell",
    {
        "isolation": Annotated[Literal["auto", "require", "off"], Doc("Whether commands are isolated.")],
        "env": NotRequired[Annotated[list[Variable], Doc("Variables that commands are given.")]],
        "limits": NotRequired[Annotated[ShellLimits, Doc("What one command may use.")]],
        "rules": NotRequired[
            Annotated[list[LockedShellRule], Doc("The shell rules, those of presets among them.")]
        ],
    },
)

ShellConfig.__pydantic_config__ = EMPTIABLE  # type: ignore[attr-defined]
for _table in (ShellRule, ShellLimits, ShellTable, LockedShell):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
