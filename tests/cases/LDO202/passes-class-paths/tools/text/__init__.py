from pydantic_ai.toolsets import FunctionToolset


class Words(FunctionToolset):
    def __init__(self, precision: int = 2) -> None:
        super().__init__()
