"""The command line as a stranger uses it: what a command prints, and its exit code."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from llmdo.__main__ import main
from tests.support import forking


def llmdo(
    root: Path, *words: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command in `root`, without a terminal: in this process, as most of the time of a process is its start."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        chdir(root),
        Path(os.devnull).open(encoding="utf-8") as nobody,
        patch.dict(os.environ, environ or {}, clear=environ is not None),
        patch.multiple(sys, argv=["llmdo", *words], stdin=nobody),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(["llmdo", *words], code, *texts)


def process(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The same as a process of its own."""
    return forking.run(
        [sys.executable, "-m", "llmdo", *words],
        cwd=root,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def without(root: Path, library: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The same as a process, of a Python that has not this library."""
    code = f"import sys\nsys.modules[{library!r}] = None\nfrom llmdo.__main__ import main\nsys.argv = ['llmdo', *sys.argv[1:]]\nsys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=root,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def unprivileged(words: Sequence[str]) -> list[str]:
    """A command that file modes hold for as for anybody: root passes them by, unless it lacks two capabilities."""
    if os.geteuid():
        return [*words]
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip(
            "root may read and write everywhere, and there is no `setpriv` to start a command without that"
        )
    lacks = "-dac_override,-dac_read_search"
    return [setpriv, f"--inh-caps={lacks}", f"--bounding-set={lacks}", *words]
