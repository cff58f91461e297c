"""The commands, one module each: what it takes, one call of a service, what it prints, and its exit code.

`add_to(app)` makes a module's commands known, and `PLACE` says where `--help` lists them: from the first file to the
last run. Nothing else has to know of a new one.
"""
