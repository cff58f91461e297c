"""How Acme extends llmdo: `check` imports this file alone, and the others where they are needed."""

from llmdo.extensions.spec import CapabilityFamily, Extension, ForeignFormat, OwnCheck

EXTENSION = Extension(
    name="acme",
    checks={"ACME001": OwnCheck("unsigned-prompt", "error", "acme_llmdo.rules:unsigned_prompt")},
    formats={"acme": ForeignFormat(("**/*.acme.json",), "acme_llmdo.crew")},
    evaluators={"polite": "acme_llmdo.rules:polite"},
    capabilities={
        "acme.bridge.look": CapabilityFamily("reads what is on the bridge", "allowed", reads=True),
        "acme.bridge.send": CapabilityFamily("sends a message over the bridge"),
    },
)
