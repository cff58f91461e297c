"""The command: `python -m playground FOLDER` writes the playground into a folder.

npm brings Pyodide, once, into `--cache`; node compiles the checker for it. `--api`, `--raw` and `--site` name another
GitHub, such as one of a company.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from playground import site
from playground.document import Hosts


def main() -> int:
    """Writes what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m playground", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".playground"))
    parser.add_argument("--api", default=Hosts().api)
    parser.add_argument("--raw", default=Hosts().raw)
    parser.add_argument("--site", default=Hosts().site)
    given = parser.parse_args()
    site.write(given.folder, site.fetched(given.cache), Hosts(given.api, given.raw, given.site))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
