"""The folder of the playground, for any server of files."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from playground import checker
from playground.document import Hosts, document
from playground.examples import examples

PYODIDE = "pyodide@314.0.7"
"""Python for browsers, a package of npm: 3.14."""

_OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
HERE = Path(__file__).parent


def fetched(folder: Path) -> Path:
    """Pyodide in a folder, which npm brings if it is not there.

    Raises:
        subprocess.CalledProcessError: npm cannot bring it.
    """
    target = folder / PYODIDE
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            words = ["npm", "pack", "--silent", PYODIDE, "--pack-destination", scratch]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=scratch)  # on the path
            shutil.unpack_archive(next(Path(scratch).glob("*.tgz")), scratch, filter="data")
            (Path(scratch) / "package").replace(target)
    return target


def write(folder: Path, pyodide: Path, hosts: Hosts) -> None:
    """Writes all files into a folder that is made for it."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pyodide").mkdir(parents=True)
    for name in _OF_PYODIDE:
        shutil.copyfile(pyodide / name, folder / "pyodide" / name)
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "checker.zip"
        plain.write_bytes(checker.archive())
        words = ["node", str(HERE / "compile.mjs"), str(pyodide), str(plain), str(folder / "checker.zip")]
        subprocess.run(words, check=True)
    (folder / "index.html").write_text(document(examples(), hosts), encoding="utf-8")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in files)).hexdigest()[:16]
    kept = ["./", *(name for name in files if name != "index.html")]
    head = f"const VERSION = {json.dumps(f'llmdo-playground {digest}')};\nconst FILES = {json.dumps(kept)};\n"
    (folder / "service.js").write_text(
        head + (HERE / "service.js").read_text(encoding="utf-8"), encoding="utf-8"
    )
