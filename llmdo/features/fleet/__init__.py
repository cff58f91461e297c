"""Many machines that take the items of batches from one database.

`queue` is the engine behind four functions, and alone knows which one it is; `worker` runs on each machine; `items`
executes one item there, as a batch does on one machine; `housekeeping` takes up the runs of dead workers; `batches`
puts batches in, and `status` reports on all of it. An engine starts an item at least once: the journal, by its
leases, ensures that it has its effects once.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="fleet",
    commands={"fleet": "llmdo.features.fleet.cli"},
    queue="llmdo.features.fleet.batches",
    views=("llmdo.features.fleet.view",),
    extras={"fleet": "dbos"},
    needs=("batch", "postgres"),
    pages=("fleet.md",),
)
