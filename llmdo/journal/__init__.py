"""The journal of a run: its events by their place in the tree, so that it can be resumed, repeated and judged.

One SQLite file a run, below `.llmdo/runs/` of the workspace, or rows of a PostgreSQL database. An entry is keyed by
call path, kind and step, never by time or order, as parallel delegates keep none. This package knows files and entries;
`runtime/` knows the format of a model's message. `stored` and `items` define the statements for journals and for
batches. Two packages execute them: `sqlite/`, whose files exported runs are as well, and
`postgres/`. `opening` picks the one of a workspace.

History of the format, newest first:

version 7: the audit is made of the entries: decisions hold their arguments, sessions their mode and isolation, and
    `refused` and `ended` are entries. Version 6, which kept the lines of its audit, is read and resumed.
version 6: the chain is taken over an entry's texts and their lengths, no longer over JSON of them.
version 5: the decision on a call is one record, in a `decision` and among the `denied` of an `end`.
version 4: `spans` for the secrets cut out of bodies and contents, `secret` for their identification, a `salt` for the
    digest of each body, so that redacted text cannot be guessed from the chain.
version 3: a chain over entries (`seq`, `head`), `original` for redacted bodies, an anchor next to the file.
    Earlier versions, which no release wrote, are refused.
"""

from llmdo.journal.entries import ClaimedError, JournalEntry, JournalError, Kind, NotOpenError
from llmdo.journal.sqlite.batches import FileBatches
from llmdo.journal.sqlite.folder import Runs
from llmdo.journal.sqlite.store import SUFFIX, Journal, fill_tables, read_journal, write_copy
from llmdo.journal.stored import Hold, JournalStore, RunIndex

__all__ = [
    "SUFFIX", "ClaimedError", "FileBatches", "Hold", "Journal", "JournalEntry", "JournalError", "JournalStore", "Kind",
    "NotOpenError", "RunIndex", "Runs", "fill_tables", "read_journal", "write_copy",
]  # fmt: skip
