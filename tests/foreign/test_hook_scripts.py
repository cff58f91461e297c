"""Which scripts of hooks refuse calls, and which surely do not."""

from __future__ import annotations

import pytest

from llmdo.foreign.events import HARMLESS
from llmdo.foreign.hook_scripts import refuses

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
