"""The foundation of all other packages: frozen values, text with places in it, findings and errors, digests, the cache.

Nothing in here knows about workspaces. Plain data comes in; out go values that every other package may hold:
`source.Source` and its spans, `diagnostic.Diagnostic` and `LlmdoError`, digests, graphs of names.
"""
