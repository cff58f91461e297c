"""The reports of a run while it happens: events, and the log, trace and audit file made of them."""
