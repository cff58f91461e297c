from typing import Any


async def main(runtime: Any, text: str) -> str:
    address = await runtime.call("reader", text)
    await runtime.call("post.send", to=address, body="Hello.")
    return "sent"
