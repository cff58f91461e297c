"""The terminal of a chat: its lines, and what a line that begins with a slash does."""
