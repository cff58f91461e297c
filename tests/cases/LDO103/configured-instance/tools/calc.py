from pydantic_ai import FunctionToolset

calc = FunctionToolset()


class Store(FunctionToolset):
    def __init__(self, folder: str = ".") -> None:
        super().__init__()
