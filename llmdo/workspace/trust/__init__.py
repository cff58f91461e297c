"""Trust: the code that a workspace would execute on this machine, and whether its person has answered for it.

`Consent.require` takes a graph and lets through or raises, before every import of a workspace's code and every start
of a program that it names. Answers are kept in the person's own state folder, by content.
"""

from __future__ import annotations

from llmdo.workspace.trust.consent import Consent, TrustAnswer, TrustQuestion, UntrustedError, is_trusted
from llmdo.workspace.trust.record import GivenTrust, TrustRecord, record_of

__all__ = [
    "Consent", "GivenTrust", "TrustAnswer", "TrustQuestion", "TrustRecord", "UntrustedError", "is_trusted", "record_of",
]  # fmt: skip
