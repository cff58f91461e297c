"""Findings, reach, runs and differences as text for people and for machines: JSON, Markdown, SARIF, JUnit and more.

Values of the packages above come in; text, or the live display of a run, goes out. Nothing in here decides or looks
anything up.
"""
