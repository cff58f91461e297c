import json

verdict = "approve"
print(json.dumps({"decision": verdict}))
