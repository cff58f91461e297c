import importlib

from pydantic_ai import FunctionToolset

calc = FunctionToolset()
for name in ("round",):
    importlib.import_module(f"plugins.{name}").add(calc)
