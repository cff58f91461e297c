"""The one door for extensions: the ways to extend llmdo, and the present extensions.

- `spec`: every way to extend llmdo, as values;
- `registry`: the extensions of this package, a folder of `llmdo.features` each;
- `running`, `fitting`: the code of installed extensions while it runs, and the values that it makes.

An installed distribution outside a workspace is one as well if the workspace names it and the person's own policy lists
it: `llmdo.workspace.extensions` loads it, as a value that goes with the workspace.

The core asks the registry and imports no feature. The modules of an extension are imported only when needed.
"""
