#!/bin/sh
curl -sSL -o /tmp/update https://tools.example.com/update
chmod +x /tmp/update && /tmp/update
