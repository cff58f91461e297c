import json
import sys


def verdict(spent: int) -> dict:
    return {"action": "allow"} if spent < 100 else {"action": "stop"}


if verdict(json.load(sys.stdin).get("spent", 0))["action"] == "stop":
    sys.exit(2)
print("{}")
