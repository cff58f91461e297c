"""A stand-in for `rpds`, which jsonschema's library of references imports, and which is no Python.

Its collections do not change: what adds to one gives another. Copies are slower than what `rpds` does, for a few
schemas that hold no references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class HashTrieMap(dict[Any, Any]):
    """A table."""

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap:
        """The value as such a table."""
        return value if isinstance(value, cls) else cls(value)

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        """With one key more."""
        return HashTrieMap({**self, key: value})

    def remove(self, key: Any) -> HashTrieMap:
        """Without a key, which is there."""
        rest = HashTrieMap(self)
        del rest[key]
        return rest

    def update(self, other: Any = (), **more: Any) -> HashTrieMap:  # type: ignore[override]
        """With the keys of another one."""
        return HashTrieMap({**self, **dict(other), **more})


class HashTrieSet(frozenset[Any]):
    """A set."""

    def insert(self, value: Any) -> HashTrieSet:
        """With one value more."""
        return HashTrieSet({*self, value})

    def remove(self, value: Any) -> HashTrieSet:
        """Without a value, which is there."""
        if value not in self:
            raise KeyError(value)
        return HashTrieSet(self - {value})

    def update(self, other: Any) -> HashTrieSet:
        """With the values of another one."""
        return HashTrieSet({*self, *other})


class List(tuple[Any, ...]):
    """A list that grows at its front."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> List:
        """The list of the values of one list, or of several values."""
        return super().__new__(cls, *values if len(values) == 1 else (values,))

    def push_front(self, value: Any) -> List:
        """With one value more, as the first."""
        return List((value, *self))

    @property
    def first(self) -> Any:
        """The first value."""
        return self[0]

    @property
    def rest(self) -> List:
        """All but the first."""
        return List(self[1:])

    def __reversed__(self) -> Iterator[Any]:
        """From the last to the first."""
        return iter(self[::-1])
