"""From files to a graph: a workspace is read, resolved and compared with its lock, without running its code.

`reading` is the only reader of the check path: disk in, documents and findings out. `resolve` makes the graph of
them, `lock` writes and reads it, `project` does all of that in one reading.
"""
