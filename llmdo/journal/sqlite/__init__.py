"""Journals as SQLite files below `.llmdo/runs/` of a workspace, behind the ports of `llmdo.journal`.

`folder` is the index of the runs, `store` one journal, `committed` its reads, `anchor` the note of how much was on
disk. Nothing outside this package knows SQLite, and `llmdo.journal` alone imports from it.
"""
