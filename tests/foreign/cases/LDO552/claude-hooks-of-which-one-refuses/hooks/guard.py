import json
import sys

if "secret" in json.load(sys.stdin)["tool_input"].get("command", ""):
    sys.exit(2)
