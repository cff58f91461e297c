"""The journal's part in a run: recorded steps are served from it, new ones happen and are recorded."""
