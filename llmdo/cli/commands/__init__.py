"""The commands, one module each: its options, one call of a service, its output, and its exit code.

`add_to(app)` registers a module's commands, and `PLACE` is their place in `--help`: from the first file to the last
run. Nothing else has to know of a new one.
"""
