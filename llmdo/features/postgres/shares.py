"""The shares of runs in their conversations, in the database, for one process at a time, on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.shares import share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmdo.features.postgres.database import Database, Statement
    from llmdo.features.postgres.lease import Lease
    from llmdo.journal.shares import ConversationShares, Share
    from llmdo.journal.stored import Result

_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('llmdo conversation ' || %s, 0))"
_OF_CONVERSATION = "SELECT run, conversation, reserved, counted FROM llmdo.share WHERE conversation = %s"
_LACKING = """
SELECT run FROM llmdo.run WHERE entry = %s AND NOT EXISTS (SELECT FROM llmdo.share WHERE share.run = run.run)
"""
_PUT = """
INSERT INTO llmdo.share (run, conversation, reserved, counted)
SELECT run, %s, %s, %s FROM llmdo.run WHERE run = %s AND (%s::bigint IS NULL OR epoch = %s AND owner = %s)
ON CONFLICT (run) DO UPDATE SET conversation = excluded.conversation, reserved = excluded.reserved,
  counted = excluded.counted
RETURNING run
"""


class PostgresShares:
    """The shares of one conversation, in a transaction that holds its lock."""

    def __init__(self, execute: Statement, conversation: str, leases: Mapping[str, Lease]) -> None:
        self._carry_out, self._conversation, self._leases = execute, conversation, leases

    def of_conversation(self) -> list[Share]:
        """Those of the conversation's runs with a journal."""
        return [share_of(*row) for row in self._carry_out(_OF_CONVERSATION, self._conversation)]

    def lacking(self, entry: str) -> list[str]:
        """The runs of that entry without a share."""
        return [run for (run,) in self._carry_out(_LACKING, entry)]

    def put(self, share: Share) -> None:
        """Keeps a share in place of its run's earlier one.

        Raises:
            ClaimedError: This process had the run, and another one has taken it over.
        """
        run, *rest = share.row
        lease = self._leases.get(run)
        fence = (None, None) if lease is None or lease.is_over else lease.fence[1:]
        if not self._carry_out(_PUT, *rest, run, fence[0], *fence) and lease is not None:
            raise lease.lost()


def sharing(
    database: Database,
    conversation: str,
    leases: Mapping[str, Lease],
    work: Callable[[ConversationShares], Result],
) -> Result:
    """The result of `work`, with exclusive access to the conversation's shares.

    `leases` are those of this process, by their runs.

    Raises:
        JournalError: Cannot be read or written.
    """

    def once() -> Result:
        with database.transaction() as execute:
            execute(_ALONE, conversation)
            return work(PostgresShares(execute, conversation, leases))

    return database.again(once, lambda: None)
