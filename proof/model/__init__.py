"""llmdo held against its model in Coq, whose proofs are in proof/coq: docs/proof.md."""
