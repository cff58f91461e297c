"""Authority: capabilities and their scopes, rules, ceilings, and the one function that decides.

`authority.decide` serves `check`, `reach` and the gate of a run, on the same values, and reads no file. `shell` judges
the words of a command by rules, `protection` names the files whose reading or writing is a capability of its own.
"""
