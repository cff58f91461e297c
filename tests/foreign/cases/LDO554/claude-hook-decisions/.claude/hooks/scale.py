import json

verdict = {"decision": "allow"}
answer = {"hookEventName": "PreToolUse", "permissionDecision": verdict["decision"]}
print(json.dumps({"hookSpecificOutput": answer}))
