// Compiles the Python of an archive with Pyodide's own Python: `node compile.mjs PYODIDE FROM.zip TO.zip`.
// Else every browser would compile it at every visit, which takes longer than all else.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, from, to] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${pyodide}/` });
python.FS.writeFile("/from.zip", readFileSync(from));
python.runPython(`
import importlib.util, io, marshal, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

DATE = (1980, 1, 1, 0, 0, 0)
with zipfile.ZipFile("/from.zip") as archive, zipfile.ZipFile("/to.zip", "w", zipfile.ZIP_DEFLATED) as compiled:
    for name in archive.namelist():
        source = archive.read(name)
        if not name.endswith(".py"):
            compiled.writestr(zipfile.ZipInfo(name, DATE), source, zipfile.ZIP_DEFLATED)
            continue
        code = compile(source, f"/checker/{name}", "exec", dont_inherit=True)
        content = _code_to_hash_pyc(code, importlib.util.source_hash(source), False)
        folder, _, file = name.rpartition("/")
        cached = f"{folder}/__pycache__/{file[:-3]}.{__import__('sys').implementation.cache_tag}.pyc"
        for path, data in ((name, b""), (cached, content)):  # of the source, only that it is there counts
            compiled.writestr(zipfile.ZipInfo(path, DATE), data, zipfile.ZIP_DEFLATED)
`);
writeFileSync(to, python.FS.readFile("/to.zip"));
