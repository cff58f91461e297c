"""A survey: the scan of each project of a list, as pages for their owners and a table of all.

A list names public repositories at fixed commits and where a clone of each lies, so that anybody gets the same report.
Clones are read by git's objects alone: nothing is fetched, checked out or run. Each project is scanned by a process of
its own (`process`), so that whatever a stranger's repository does to llmdo ends as a row.

- `listed`: the list; `surveyed`: the scan of a project as a row; `survey`: all of them, in the order of their names;
- `markup`, `index`, `project`: the pages, which need no server and ask nobody; `kinds`: the words about findings;
- `cli`: `llmdo scan --many`.
"""

from __future__ import annotations

from llmdo.extensions.spec import Extension

EXTENSION = Extension(name="survey", survey="llmdo.features.survey.cli", needs=("page",))
