"""A folder with links to the programs that the tests may need, and to no other: `python -m tests.support.prerequisites FOLDER`.

It prints the settings of the variables that ask for the tests of what is there, and of `PYTHON`, from which the Makefile makes
environments that outlive the folder. `--missing` prints the packages that are not there.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from llmdo.base.prerequisites import PREREQUISITES, PYTHON, Prerequisite


def programs(needed: Prerequisite) -> dict[str, Path | None]:
    """The file that each of them is here, by its name; None where there is none."""
    if needed == PYTHON:  # whose shims, as those of pyenv, need more than themselves
        return {needed.programs[0]: Path(sys.executable).resolve()}
    servers = map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))  # which Debian keeps out of `PATH`
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *servers])
    return {name: Path(file) if (file := shutil.which(name, path=path)) else None for name in needed.programs}


def is_there(needed: Prerequisite) -> bool:
    return all(programs(needed).values())


def link(folder: Path) -> None:
    """Makes the links."""
    for needed in PREREQUISITES:
        for name, program in programs(needed).items():
            if program:
                (folder / name).symlink_to(program)


if __name__ == "__main__":
    if sys.argv[1] == "--missing":
        print("\n".join(needed.package for needed in PREREQUISITES if not is_there(needed)))
    else:
        link(Path(sys.argv[1]))
        asking = (needed.asked_by for needed in PREREQUISITES if needed.asked_by and is_there(needed))
        print(*(f"{variable}=1" for variable in asking), f"PYTHON={Path(sys.executable).resolve()}", sep="\n")
