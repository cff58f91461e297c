"""Journals in a PostgreSQL database: what stands behind the ports of `llmdo.journal` where `LLMDO_STORE` names one.

`runs` is the index of the runs, `store` one journal, `lease` the right to work on a run, `pace` how often something
is done by all processes together, `database` the connection, `migrations` the tables. Nothing outside this package
knows PostgreSQL, and `llmdo.journal.opening` alone imports from it.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="postgres",
    commands={"store": "llmdo.features.postgres.cli"},
    stores=dict.fromkeys(("postgresql", "postgres"), "llmdo.features.postgres.opening"),
)
