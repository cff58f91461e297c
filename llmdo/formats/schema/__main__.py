"""Writes `schemas/` again, or lists its outdated files."""

from __future__ import annotations

import argparse
import sys
from typing import get_args

from llmdo.base import resources
from llmdo.formats.schema.acceptance import Format
from llmdo.formats.schema.generation import generate


def main() -> int:
    """Run the command: 0, or 1 if a file is out of date and was not to be written."""
    parser = argparse.ArgumentParser(prog="python -m llmdo.formats.schema", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files that are out of date")
    write = parser.parse_args().write
    folder = resources.folder("schemas")
    stale = 0
    for form in get_args(Format):
        path, text = folder / f"{form}.json", generate(form)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if write:
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        sys.stderr.write(f"{'wrote' if write else 'out of date:'} {path.name}\n")
    return 1 if stale and not write else 0


if __name__ == "__main__":
    sys.exit(main())
