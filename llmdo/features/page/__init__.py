"""The page: the answers of services, shown in a browser on this machine, or kept as one file.

Data are drawn by one shell of plain ES modules, from a server or from a file. Text is set as text, never as markup, and
no request leaves the machine. How a view is added: `docs/page.md`, at its end.

- `subject`: the project of a page; `endpoints`, `shapes`: the answers to its requests, and their JSON;
- `day`, `team`, `changes`, `checked`, `inbox`, `runs`, `starting`: the views, each with its endpoints and its part of
  a file;
- `static/`: the modules that browsers run; `shell`: one document of them all;
- `server`, `guard`, `opening`: the server, its access control, and the start of a browser at its address;
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
