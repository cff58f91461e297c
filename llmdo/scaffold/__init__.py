"""What writes into a workspace on a person's behalf: `init`, `add` and `remove`."""
