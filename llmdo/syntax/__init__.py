"""Text to `Document`: plain data, a place for every key and value, and problems.

One module a syntax: TOML, the header of a worker file, Python as far as `check` reads it. `discovery` finds the files
by globs and reads them without leaving the workspace. What comes in is bytes; nothing in here knows what a key means.
"""
