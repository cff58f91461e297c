"""Text to `Document`: plain data, a place for every key and value, and problems.

One module a syntax: TOML, the header of a worker file, the places of JSON, Python as far as `check` reads it.
`discovery` finds the files by globs and reads them without leaving the workspace. The input is bytes; nothing here
knows the meaning of a key.
"""
