"""The playground: `check`, `reach`, `scan` and `diff` in a browser, of any public repository, without a server.

Python runs in the browser by Pyodide, and what is shown are the page's own modules.

- `checker`: the part of llmdo that runs there, as one archive;
- `answers`: its answers to the page's requests, of the files that the browser hands it;
- `document`: the document, with the modules and styles of the page and its own in `static/`;
- `site`: the folder that a server of files hands out: `python -m playground FOLDER`.
"""
