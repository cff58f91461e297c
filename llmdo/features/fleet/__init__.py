"""Many machines that take the items of batches from one database.

`queue` is the engine behind four functions, and alone knows which one it is; `worker` is what runs on each machine;
`items` carries one item out there, as a batch does on one machine; `reaping` takes up what dead workers left;
`commands` puts batches in, and `status` says how all of it stands. An engine starts an item at least once: that it has
its effects once is the work of the journal, by its leases.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="fleet",
    commands={"fleet": "llmdo.features.fleet.cli", "worker": "llmdo.features.fleet.worker_cli"},
    queue="llmdo.features.fleet.batches",
    views=("llmdo.features.fleet.view",),
    extras={"fleet": "dbos"},
    needs=("batch", "postgres"),
    pages=("fleet.md",),
)
