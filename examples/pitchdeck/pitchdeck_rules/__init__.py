"""The rules that evaluate a pitch deck, and the two roles that they play in a run.

Values flow one way: `text -> deck -> statements -> figures -> { rubric | flags } -> evaluation -> report`.

* `text`: bytes -> readable text, or why there is none
* `amounts`: money, percentages, multiples and counts in a sentence
* `words`: the words of each topic, in headings and in sentences
* `deck`: text -> lines with slide numbers and headings
* `statements`: deck -> sentences, list items and table rows, each with what it speaks of
* `figures`: statements -> what the company says of itself in numbers
* `rubric`: what earns a point in each dimension
* `contradictions`, `flags`: what should make an investor stop
* `evaluation`: all of it together, with the verdict
* `report`: evaluation -> Markdown
* `conversation`: the messages of an agent run -> what the orchestrator or the evaluator does next
"""
