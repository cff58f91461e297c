"""Text to `Document`: plain data, a place for every key and value, and problems."""
