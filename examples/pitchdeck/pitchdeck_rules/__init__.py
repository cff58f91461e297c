"""The rules that evaluate a pitch deck, and the two roles that they play in a run.

Values flow one way: `text -> deck -> statements -> figures -> { scores | flags } -> evaluation -> report`.

* `text`: bytes -> readable text, or why there is none
* `deck`: text -> lines with slide numbers and headings
* `amounts`: money, percentages, multiples and counts in a sentence
* `patterns`, `words`: how patterns are written down; the words of each topic, in headings and in sentences
* `classification`: which dimensions a sentence speaks of
* `instructions`: which sentences speak to the evaluator instead of about the company
* `statements`: deck -> sentences, list items and table rows, each with what it speaks of
* `subjects`, `figures`: statements -> what the company says of itself in numbers
* `growth`, `contradictions`, `flags`: what should make an investor stop
* `criteria`, `rubric`: what earns a point in each dimension
* `evaluation`: all of it together, with the verdict
* `report`: evaluation -> Markdown
* `conversation`: the messages of an agent run -> what the orchestrator or the evaluator does next
"""
