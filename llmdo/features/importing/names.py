"""Names that our formats allow, for the free names of other formats."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 64  # characters of a name
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Names:
    """Unique names, each as near to its original as the rules for names allow."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.lower() for name in taken}
        self._given: dict[tuple[str, str, object], str] = {}

    def of(self, kind: str, called: str, key: object = None) -> str:
        """The name of the thing of this kind; the same for the same `called` and `key`.

        That of a `tool` is a name in Python as well.
        """
        if (kind, called, key) not in self._given:
            base = _NO_NAME.sub("-", called).strip("-_") or kind
            base = base if base[0].isalpha() else f"{kind}-{base}"
            if kind == "tool":
                base = base.replace("-", "_")
                base = f"{base}_tool" if keyword.iskeyword(base) else base
            name, number = base[:MOST], 2
            # Files are called after names, and some systems do not tell capitals.
            while name.lower() in self._taken:
                end = f"_{number}"
                name, number = f"{base[: MOST - len(end)]}{end}", number + 1
            self._taken.add(name.lower())
            self._given[kind, called, key] = name
        return self._given[kind, called, key]
