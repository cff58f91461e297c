"""The page: what services answer, shown in a browser on this machine, or kept as one file.

Data are drawn by one shell of plain ES modules, whether a server hands them out or a file holds them. Text is set as
text, never as markup, and no request leaves the machine. How a view is added: `docs/page.md`, at its end.

- `subject`: what a page is about; `endpoints`: what answers a request of the page, without any server;
- `views/`: a module a view, each with its endpoints and what of them a file holds;
- `static/`: the modules that browsers run; `shell`: one document of them all;
- `server`, `guard`, `link`: the server, what it lets in, and how the browser is told where it is;
- `export`: the page as one file.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(
    name="page",
    commands={"page": "llmdo.features.page.cli"},
    extras={"web": "starlette"},
    pages=("page.md",),
)
