"""Trust: what a workspace would have this machine execute, and whether its person has answered for that.

A graph comes in, and `Consent.require` lets through or raises: it stands before every import of a workspace's code and
every start of a program that the workspace names. Answers are kept in the person's own state folder, by content.
"""

from __future__ import annotations

from llmdo.workspace.trust.consent import Consent, TrustAnswer, TrustQuestion, UntrustedError, is_trusted
from llmdo.workspace.trust.record import GivenTrust, TrustRecord, record_of

__all__ = [
    "Consent", "GivenTrust", "TrustAnswer", "TrustQuestion", "TrustRecord", "UntrustedError", "is_trusted", "record_of",
]  # fmt: skip
