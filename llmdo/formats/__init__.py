"""The content of files: every key with its type, its default and its sentence, stated once.

`documents` holds the forms of whole files, `fields` the parts of a key; `schema` generates `schemas/` from them and
judges documents of `syntax` by them, with their data and findings as the result.
"""
