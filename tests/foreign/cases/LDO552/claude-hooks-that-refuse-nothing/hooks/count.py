import json
import sys

print(len(json.load(sys.stdin)), file=sys.stderr)
