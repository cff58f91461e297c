#!/bin/sh
if grep -q "git push --force"; then
  echo '{"permission": "deny"}'
fi
echo '{"permission": "allow"}'
