from pydantic_ai import FunctionToolset


def make() -> FunctionToolset:
    return FunctionToolset()


calc = make()
