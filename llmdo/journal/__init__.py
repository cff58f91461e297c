"""The journal of a run: what happened, at which place of the tree, so that it can go on, be repeated and be judged.

One SQLite file a run, below `.llmdo/runs/` of the workspace, or rows of a PostgreSQL database. An entry is keyed by
call path, kind and step, never by time or by the order in which things happened to run, for parallel delegates do not
keep an order. This package knows files and entries; `runtime/` knows what a model's message looks like. `stored` and
`batches` say what a store keeps of journals and of batches, whose values are `items`, with its statements. Two packages
carry these out: `sqlite/`, of whose files exported runs are as well, and `postgres/`. `opening` says which one a
workspace has.

History of the format, newest first:
  version 7: the audit is made of the entries: decisions hold their arguments, sessions their mode and isolation, and
    `refused` and `ended` are entries. Version 6, which kept the lines of its audit, is read and gone on with.
  version 6: the chain is taken over an entry's texts and their lengths, no longer over JSON of them.
  version 5: what was decided about a call is one record, in a `decision` and among the `denied` of an `end`.
  version 4: `spans` for the secrets that were cut out of bodies and contents, `secret` for what they are known by, a
    `salt` for the digest of each body, so that what an export redacts cannot be guessed from the chain.
  version 3: a chain over entries (`seq`, `head`), `original` for what an export redacts, an anchor beside the file.
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
