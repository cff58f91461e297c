"""The command line: options to one library call, its outcome to text and an exit code.

`quick` answers the plain `check` and `runs` before anything slow is imported; `app` declares all other commands, each
in the module of its subject. `completion` tells shells what may follow.
"""
