// The memory of Pyodide with llmdo imported, and what it may import later:
// `node snapshot.mjs PYODIDE FROM.zip MEMORY.bin LATER.zip MOST`, with the bytes that the memory may have at most.
// To start Python and to import llmdo takes a browser four times as long as to load what comes of it.
//
// Of the 30 MiB that Pyodide begins with it takes 23 MB, 10 MB of them a stack that is empty; each module of llmdo takes
// about 40 kB, and none much more. The worker makes room for what is larger than those 30 MiB (`static/worker.js`).

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, from, to, later, most] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const PAGE = 65536; // bytes

const env = { HOME: "/home", LLMDO_NO_CACHE: "1" };
const started = (more) => loadPyodide({ indexURL: `${pyodide}/`, env, ...more });
const unpacked = (python, archive) => python.unpackArchive(new Uint8Array(archive), "zip", { extractDir: "/checker" });

/** An instance of its own with the archive, its Python compiled: all that takes more memory than what comes of it. */
const workshop = await started();
unpacked(workshop, readFileSync(from));
workshop.runPython(`
import compileall, py_compile, shutil
compileall.compile_dir("/checker", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
shutil.make_archive("/compiled", "zip", "/checker")
`);

const python = await started({ _makeSnapshot: true });
unpacked(python, workshop.FS.readFile("/compiled.zip"));
const imported = python.runPython(`
import gc, sys
sys.path.insert(0, "/checker")
from playground import answers
from llmdo.extensions import registry
registry.features()
subject = answers.Subject()
gc.collect()
"\\n".join(file for module in (*sys.modules.values(),) if (file := getattr(module, "__file__", None)))
`);

workshop.globals.set("imported", imported);
workshop.runPython(`
import pathlib, zipfile
imported = {*imported.split("\\n")}
DATE = (1980, 1, 1, 0, 0, 0)
with zipfile.ZipFile("/later.zip", "w") as archive:
    for path in sorted(pathlib.Path("/checker").rglob("*")):
        source = path.parents[1] / f"{path.stem.partition('.')[0]}.py" if path.suffix == ".pyc" else path
        if path.is_file() and str(source) not in imported:
            content = b"" if path.suffix == ".py" else path.read_bytes()  # of a source only that it is there counts
            archive.writestr(zipfile.ZipInfo(str(path.relative_to("/checker")), DATE), content)
`);
writeFileSync(later, workshop.FS.readFile("/later.zip"));

/** Without what lies beyond the heap: memory grows by a fifth at once, and what is new is empty anyway. */
const whole = python.makeMemorySnapshot();
const head = whole.length - python._module.HEAPU8.length;
const end = head + Math.ceil(python._module._sbrk(0) / PAGE) * PAGE;
if (whole.subarray(end).some(Boolean)) throw new Error("there is something beyond the heap");
if (end > Number(most)) throw new Error(`${end} bytes of memory, of at most ${most}`);
writeFileSync(to, whole.subarray(0, end));
