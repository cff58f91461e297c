"""Which model answers a worker, and how a request leaves: counted, retried, and failing in a sentence."""
