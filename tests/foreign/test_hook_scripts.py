"""Which scripts of hooks refuse calls, and which surely do not."""

from __future__ import annotations

import pytest

from llmdo.foreign.events import HARMLESS
from llmdo.foreign.hook_scripts import absolute_paths, refuses

_QUIET = "const fs = require('node:fs')\nprocess.stdout.write(fs.readFileSync(0))\nprocess.exit(0)\n"


@pytest.mark.parametrize(
    ("command", "path", "script"),
    [
        ("node hooks/a.js", "hooks/a.js", _QUIET),
        ('node "$CLAUDE_PROJECT_DIR/hooks/a.js" before', "hooks/a.js", _QUIET),
        ("hooks/a.mjs", "hooks/a.mjs", "import { readFileSync } from 'fs'\nconsole.error(readFileSync(0).length)\n"),
        ("python3 a.py", "a.py", "from __future__ import annotations\nimport json, sys\nsys.exit(0)\n"),
        ("bash a.sh", "a.sh", "#!/bin/bash\ncat >> calls.txt\nexit 0\n"),
    ],
)  # fmt: skip
def test_a_script_without_an_answer_that_ends_well_refuses_nothing(
    command: str, path: str, script: str
) -> None:
    assert refuses(command, {path: script}, HARMLESS) is False


@pytest.mark.parametrize(
    ("command", "path", "script"),
    [
        ("python3 a.py", "a.py", "import sys\nsys.exit(2)\n"),
        ("a.sh", "a.sh", "[ -f stop ] && exit 2\nexit 0\n"),
        ("node a.js", "a.js", "console.log(JSON.stringify({ decision: 'block' }))\n"),
    ],
)
def test_a_script_with_a_refusal_refuses(command: str, path: str, script: str) -> None:
    assert refuses(command, {path: script}, HARMLESS) is True


@pytest.mark.parametrize(
    ("command", "path", "script"),
    [
        ("node a.js | check", "a.js", _QUIET),
        ("node a.js && node b.js", "a.js", _QUIET),
        ("node a.js b.js", "b.js", _QUIET),
        ("node a.js", "a.js", _QUIET.replace("exit(0)", "exit(code)")),
        ("node a.js", "a.js", _QUIET.replace("exit(0)", "exit(1)")),
        ("node a.js", "a.js", f"{_QUIET}process.exitCode = code\n"),
        ("node a.js", "a.js", f"const rules = require('./rules')\n{_QUIET}"),
        ("node a.js", "a.js", f"import rules from './rules.js'\n{_QUIET}"),
        ("node a.js", "a.js", f"await import('./rules.js')\n{_QUIET}"),
        ("node a.js", "a.js", f"// Calls are denied elsewhere.\n{_QUIET}"),
        ("python3 a.py", "a.py", "import rules\n"),
        ("python3 a.py", "a.py", "import json, rules\n"),
        ("python3 a.py", "a.py", "import sys\nsys.exit(main())\n"),
        ("python3 a.py", "a.py", "import os\nos.system('x')\n"),
        ("python3 a.py", "a.py", "raise SystemExit(main())\n"),
        ("a.sh", "a.sh", "cat\n"),
        ("a.sh", "a.sh", "grep x\nexit\n"),
        ("a.sh", "a.sh", "set -e\ngrep x\nexit 0\n"),
        ("a.sh", "a.sh", "check\nexit 0\n"),
        ("a.sh", "a.sh", "grep x\nexit $?\n"),
        ("a.rb", "a.rb", "exit(0)\n"),
    ],
)
def test_what_else_a_script_does_is_not_known(command: str, path: str, script: str) -> None:
    assert refuses(command, {path: script}, HARMLESS) is None


@pytest.mark.parametrize(
    ("path", "script"),
    [
        ("a.py", "import sys\nBLOCKED = ['rm']\nif sys.argv:\n    sys.exit(1)\nraise SystemExit(1)\n"),
        ("a.js", _QUIET.replace("exit(0)", "exit(1)")),
        ("a.js", f"// denied\n{_QUIET}process.exitCode = 1\nthrow new Error('blocked')\n"),
        ("a.sh", "grep -q rm && echo blocked && exit 1\nexit 0\n"),
    ],
)
def test_a_script_that_ends_with_one_refuses_nothing_where_only_two_does(path: str, script: str) -> None:
    program = {"py": "python3", "js": "node", "sh": "bash"}[path.partition(".")[2]]
    assert refuses(f"{program} {path}", {path: script}, HARMLESS, by_two=True) is False
    assert refuses(f"{program} {path}", {path: script}, HARMLESS) is None


@pytest.mark.parametrize(
    ("path", "script"),
    [
        ("a.py", "import sys\nsys.exit(code)\n"),
        ("a.py", "import sys\nsys.exit(12)\n"),
        ("a.py", "import sys, json\nprint(json.dumps({'decision': VERDICT}))\n"),
        ("a.py", "import argparse\nargparse.ArgumentParser().parse_args()\n"),
        ("a.py", "raise SystemExit(main())\n"),
        ("a.js", f"process.exitCode = code\n{_QUIET}"),
        ("a.js", f"console.log(JSON.stringify({{ continue: going }}))\n{_QUIET}"),
        ("a.sh", "grep rm\nexit $?\n"),
    ],
)
def test_an_end_or_an_answer_that_is_not_known_may_refuse_where_only_two_does(path: str, script: str) -> None:
    program = {"py": "python3", "js": "node", "sh": "bash"}[path.partition(".")[2]]
    assert refuses(f"{program} {path}", {path: script}, HARMLESS, by_two=True) is None


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("python /home/ann/orchard/hooks/a.py", ["hooks/a.py"]),
        ('node "C:/Users/ann/My Orchard/.claude/hooks/a.js"', [".claude/hooks/a.js", "hooks/a.js"]),
        (r"node C:\\Users\\ann\\orchard\\hooks\\a.js", ["hooks/a.js"]),
        ("bash '/workspaces/orchard/hooks/a.sh'", ["orchard/hooks/a.sh", "hooks/a.sh"]),
        # A person's own, those of the machine, and a name alone.
        ("python /home/ann/.claude/a.py", []),
        ("python /root/hooks/a.py", []),
        ("bash /usr/local/lib/a.sh", []),
        ("bash /srv/a.sh", []),
        ("bash hooks/a.sh", []),
        ('bash "$HOME/orchard/hooks/a.sh"', []),
    ],
)
def test_the_ends_of_absolute_paths_may_be_in_the_project(command: str, ends: list[str]) -> None:
    assert [end for _, each in absolute_paths(command) for end in each] == ends
