"""The folder of the playground, for any server of files."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from playground import checker
from playground.document import Hosts, document
from playground.examples import examples

PYODIDE = "pyodide@314.0.7"
"""Python for browsers, a package of npm: 3.14."""

_OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
_LIBRARY = "python_stdlib.zip"
_UNUSED = (
    "_pyrepl/", "doctest.py", "ftplib.py", "imaplib.py", "mailbox.py", "multiprocessing/", "optparse.py", "pdb.py",
    "pydoc.py", "pydoc_data/", "smtplib.py", "turtle.py", "unittest/", "wsgiref/", "xml/", "xmlrpc/", "encodings/mac_",
    "encodings/iso8859_", "encodings/cp1", "encodings/cp7", "encodings/cp8", "encodings/cp9", "encodings/koi8",
)  # fmt: skip
"""Parts of Python's library that nothing here imports: a tenth of what would be transferred."""
MOST_MEMORY = 40 * 1024 * 1024
"""Bytes of memory with the checker imported, at most: as many load in the time that `bench.playground` allows."""

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
    _trim(pyodide / _LIBRARY, folder / "pyodide" / _LIBRARY)
    remember(folder, checker.archive())
    (folder / "index.html").write_text(document(examples(), hosts), encoding="utf-8")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in files)).hexdigest()[:16]
    kept = ["./", *(name for name in files if name != "index.html")]
    head = f"const VERSION = {json.dumps(f'llmdo-playground {digest}')};\nconst FILES = {json.dumps(kept)};\n"
    (folder / "service.js").write_text(
        head + (HERE / "service.js").read_text(encoding="utf-8"), encoding="utf-8"
    )


def remember(folder: Path, archive: bytes) -> None:
    """Writes the memory of Python with the checker of an archive imported, and what of it is imported later."""
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "checker.zip"
        plain.write_bytes(archive)
        made = ((folder / "pyodide").resolve(), plain, folder / "checker.bin", folder / "later.zip")
        words = ["node", str(HERE / "snapshot.mjs"), *map(str, made), str(MOST_MEMORY)]
        subprocess.run(words, check=True)


def _trim(library: Path, target: Path) -> None:
    """Copies Python's library without what is not used."""
    with zipfile.ZipFile(library) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as trimmed:
        for member in whole.infolist():
            if not member.filename.startswith(_UNUSED):
                trimmed.writestr(member, whole.read(member))
