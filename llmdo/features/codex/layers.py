"""Settings of Codex in layers: those of an agent or a profile, and below them those of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.parts import table
from llmdo.base.values import dataclass
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.syntax.document import Document, Route


@dataclass(frozen=True, slots=True)
class ConfigLayer:
    """The table at `route` of a document."""

    document: Document
    route: Route = ()

    def place(self, *route: str | int, of_key: bool = False) -> Place:
        """The place of its value at `route`."""
        return Place(self.document, (*self.route, *route), of_key)


@dataclass(frozen=True, slots=True)
class ConfigLayers:
    """The layers of one agent, the uppermost first."""

    layers: tuple[ConfigLayer, ...]

    def over(self, layer: ConfigLayer) -> ConfigLayers:
        """The layers, with another one on top."""
        return ConfigLayers((layer, *self.layers))

    def get(self, *route: str) -> tuple[object, Place | None]:
        """The uppermost value at `route`, and its place; None if no layer has one."""
        for layer in self.layers:
            place = layer.place(*route)
            if place.data is not None:
                return place.data, place
        return None, None

    def text(self, *route: str) -> tuple[str | None, Place | None]:
        """The uppermost value at `route` if that is a text."""
        value, place = self.get(*route)
        return (value, place) if isinstance(value, str) else (None, None)

    def is_true(self, *route: str) -> bool:
        """Whether the uppermost value at `route` is true."""
        return self.get(*route)[0] is True

    def tables(self, *route: str) -> Iterator[tuple[str, Mapping[str, object], Place]]:
        """The tables in the table at `route`, by their names, merged over all layers."""
        merged: dict[str, dict[str, object]] = {}
        places: dict[str, Place] = {}
        for layer in reversed(self.layers):
            for name, value in table(layer.place(*route).data).items():
                merged[name] = {**merged.get(name, {}), **table(value)}
                places[name] = layer.place(*route, name, of_key=True)
        for name, values in merged.items():
            yield name, values, places[name]
