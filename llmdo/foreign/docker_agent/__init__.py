"""docker-agent: its YAML files."""
