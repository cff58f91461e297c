"""What stands before every call: what it raises, what rules and policies say of it, and the toolset that asks them."""
