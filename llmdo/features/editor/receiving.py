"""Messages of an editor as the protocol library reads them, and an answer to each unreadable request."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

LAST = 2**31 - 1
"""The greatest line and column of the protocol; editors send more for the end."""


class EditorProtocol(LanguageServerProtocol):
    """The protocol, which answers every request: the library drops unreadable ones."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """An object of a message, and at last the message; lines and columns are cut to the protocol's range.

        Raises:
            JsonRpcException: It is none; if it asks for an answer, the editor has that.
        """
        if data.keys() == {"line", "character"}:
            return {name: _within(number) for name, number in data.items()}
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise


def _within(number: object) -> object:
    return max(0, int(min(number, LAST))) if isinstance(number, int | float) else number
