"""The command line. Each command parses, makes one library call, renders and returns an exit code."""
