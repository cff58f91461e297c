"""The gate before every call: its capabilities, the verdicts of rules and policies, and the toolset that asks them."""
