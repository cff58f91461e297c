"""Findings to text for people and for machines. Nothing here decides anything."""
