"""Every small team: what its runs do, by an interpreter of the law, against what llmdo says of it from its files.

`teams` has the teams as values, all of them up to a size, and larger ones by chance; `calls` is the law of the
documentation once more, and `runs` the interpreter, both without a line of llmdo; `product` makes a graph of a team;
`laws` are the sentences that have to be true of both; `__main__` is the command.
"""
