"""The page: what services answer, shown in a browser on this machine, or kept as one file.

Data are drawn by one shell of plain ES modules, whether a server hands them out or a file holds them. Text is set as
text, never as markup, and no request leaves the machine.
"""
