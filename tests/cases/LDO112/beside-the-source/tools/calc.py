import helpers
from pydantic_ai import FunctionToolset

calc = FunctionToolset()
