"""The one door for extensions: what llmdo can be extended by, and the extensions that are there.

- `spec`: every way to extend llmdo, as values;
- `registry`: the extensions of this package, a folder of `llmdo.features` each.

An installed distribution outside a workspace is one as well where the workspace names it and the person's own policy
lists it: `llmdo.workspace.extensions` loads it, as a value that goes with the workspace.

The core asks the registry and imports no feature. An extension names its modules, which are imported where they are
needed: nothing heavy is loaded for what nobody asked for.
"""
