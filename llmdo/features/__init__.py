"""The features of llmdo: a folder each, with all that is its own.

A folder says in `EXTENSION` what it adds, as a stranger's extension does. The rest of llmdo imports none of them, and a
feature none but those that it `needs`: without its folder, llmdo is the same but for that.
"""
