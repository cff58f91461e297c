"""The journal's part in a run: what is recorded is served, what is not happens and is recorded."""
