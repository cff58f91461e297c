"""Counts the requests of a skill, such as those by curl."""

import re
import sys

# A download with wget, or a call of requests.get, is no good sign.
PATTERNS = (
    (r"(?i)(requests\.(get|post)|urllib\.request)\s*\(", "HTTP request"),
    (r"(?i)(curl|wget)\s+", "request of a shell"),
)

for path in sys.argv[1:]:
    print(path, [name for pattern, name in PATTERNS if re.search(pattern, open(path).read())])
