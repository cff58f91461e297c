#!/bin/sh
echo '{"permissionDecision": "allow"}'
