"""Stands for the package llm-do, as far as imported Python asks for it; where llm-do is installed, that is used."""
