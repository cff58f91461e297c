"""The choice of a worker's model, and its requests: counted, retried, and failing in a sentence."""
