"""The terminal of a chat: its lines, and its commands, which begin with a slash."""
