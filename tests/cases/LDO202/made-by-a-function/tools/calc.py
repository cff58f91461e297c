from pydantic_ai import FunctionToolset


def make():
    return FunctionToolset()


calc = make()
