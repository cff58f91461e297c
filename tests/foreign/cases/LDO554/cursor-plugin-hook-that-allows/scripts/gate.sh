echo '{"permission": "allow"}'
