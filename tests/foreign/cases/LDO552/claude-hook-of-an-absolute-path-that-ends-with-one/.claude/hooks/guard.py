"""Ends with 1 before a dangerous command, which blocks nothing."""
import json
import re
import sys

BLOCKED = [r"\brm\s+-rf\b"]

try:
    command = json.load(sys.stdin).get("tool_input", {}).get("command", "")
except ValueError:
    sys.exit(0)
for pattern in BLOCKED:
    if re.search(pattern, command):
        print("this command is blocked", file=sys.stderr)
        sys.exit(1)
sys.exit(0)
