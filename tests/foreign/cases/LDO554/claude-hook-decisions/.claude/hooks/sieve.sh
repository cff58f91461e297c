#!/bin/sh
# Other clients take this word; Claude Code takes `approve` alone.
grep -q rye && echo "{\"decision\": \"allow\"}" || echo '{"decision": "block", "reason": "no rye"}'
