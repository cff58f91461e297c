"""Findings, reach, runs and differences as text for people and for machines: JSON, Markdown, SARIF, JUnit and more.

What comes in are the values of the packages above; what goes out is text, or the live display of a run. Nothing in
here decides or looks anything up.
"""
