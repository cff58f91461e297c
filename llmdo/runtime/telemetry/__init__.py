"""What is reported of a run while it happens: events, and the log, trace and audit file that are made of them."""
