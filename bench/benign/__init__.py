"""Ordinary work of real clients under `llmdo hook`: `python -m bench.benign`, with the clients of `make clients`.

`deeds` are steps of work in words of no client, each with the reason why a policy allows it. `policies` are ceilings
and rules as a person writes them, each with what it is to allow, in words, and the deeds of a session and of its
agents. Both are written without a look at what llmdo makes of a call. `wording` turns a deed into a call of a client's
tool. `place` writes the project, `playing` is the model's part in it, `__main__` runs the clients and counts.
"""
