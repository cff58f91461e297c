from typing import Any


async def main(runtime: Any, text: str) -> str:
    return await runtime.call("post.send", to=text)
