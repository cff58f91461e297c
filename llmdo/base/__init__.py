"""What everything else stands on: frozen values, text with places in it, findings and errors, digests, the cache.

Nothing in here knows what a workspace is. What comes in is plain data; what goes out are values that every other
package may hold: `source.Source` and its spans, `diagnostic.Diagnostic` and `LlmdoError`, digests, graphs of names.
"""
