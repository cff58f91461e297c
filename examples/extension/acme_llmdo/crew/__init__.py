"""Crews: `*.acme.json` files, each with an agent and the tools that it has."""
