"""The scripted evaluator of this example: rules that read a pitch deck in place of a language model.

They take what stands under headings they know and in words that leave no doubt, quote it with its line, and leave
out the rest. `deck.text -> statements -> { figures, scores, flags } -> report`:

* `deck`: the text of a deck as statements, each with its slide, its lines and the heading above it
* `figures`: amounts of money, and the statements that give a key figure
* `scores`: three points for each of seven dimensions, each with the statement that earned it
* `flags`: what should make an investor stop
* `report`: all of it as Markdown, with the verdict
"""
