"""The features of llmdo: a self-contained folder each.

A folder states its additions in `EXTENSION`, as a stranger's extension does. The rest of llmdo imports none of them,
and a feature none but those that it `needs`: without its folder, llmdo is the same but for that.
"""
