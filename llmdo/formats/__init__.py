"""What files may say: every key with its type, its default and its sentence, stated once.

`documents` holds the forms of whole files, `fields` what a key is made of; `schema` generates `schemas/` from them and
judges documents by them. What comes in is a document of `syntax`; what goes out is its data, and findings.
"""
