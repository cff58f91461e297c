"""Journals in a PostgreSQL database: the ports of `llmdo.journal` if `LLMDO_STORE` names one.

`runs` is the index of the runs, `store` one journal, `lease` the right to work on a run, `pace` the rate of all
processes together, `database` the connection, `migrations` the tables. Nothing outside this package knows PostgreSQL,
and `llmdo.journal.opening` alone imports from it.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="postgres",
    stores=dict.fromkeys(("postgresql", "postgres"), "llmdo.features.postgres.opening"),
)
