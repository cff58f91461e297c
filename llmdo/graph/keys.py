"""The keys, forms and codecs of the graph's fields in files, stated once at each field.

Writing, reading, comparing and describing values in schemas follows from this: `encoded` and `decoded` here, the words
of `workspace.lock.drift`, the effects of `diff.facts`, the tables of `formats`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

from llmdo.base.source import Source
from llmdo.base.values import dataclass, field, fields
from llmdo.policy.authority import STRICTNESS, Capability, FlowRule, Rule
from llmdo.policy.flow import PRESETS, Flows, LabelledSource, parse_flow
from llmdo.syntax.document import Document, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from llmdo.base.values import Json
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Route

    Encoder = Callable[[Any], Json]
    Decoder = Callable[[Any, "ValueOrigin"], object]

PRESET = "preset"
MAX_BITS = "max-bits"
"""The key of the most bits of a closed answer, among flow rules like `PRESET`, which names a set of them."""

Made = TypeVar("Made")

Effect = Literal["none", "ceiling", "amount", "choice", "elsewhere"]
"""The effect of a field's change on the power of entries.

`none`, not stated by the field; `ceiling`, reported as one; `amount`, a limit, unlimited when absent; `choice`, a list
of admitted items, all when absent; `elsewhere`, the same power over other files, which counts as more.
"""

FileKind = Literal["file", "agent", "lock"]
"""A file that people write, `[workers.NAME]` of the manifest for an adopted agent, or `llmdo.lock`."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that the user wrote, and its place."""

    name: str
    at: Place = field(compare=False)


class Key(NamedTuple):
    """The key of a field in one kind of file."""

    name: str
    form: str
    """The type of its value, from `llmdo.formats`."""
    doc: str
    """The text that editors show."""
    is_required: bool = False


class ValueOrigin(NamedTuple):
    """The source of a value, and the owner of the rules in it."""

    document: Document
    route: Route
    owner: str = ""


class Codec(NamedTuple):
    """The conversion between a field's value and its form in a file."""

    encode: Encoder | None
    """A result of None leaves the key out. Without an encoder, the field has several keys, given to `encoded`."""
    decode: Decoder | None
    """From values that its format accepts; None if both are the same."""
    table: type | None = None
    """The class of the value if its own fields are keys of a table."""


class Written(NamedTuple):
    """The statements of a field about itself in files."""

    codec: Codec
    file: Key | None = None
    agent: Key | None = None
    lock: Key | None = None
    drift: str = ""
    """The words for a change, to follow the item's name; empty if the two values are to be shown."""
    effect: Effect = "none"
    gives_nothing: bool = False
    """Whether the key can give no permission, so that a fix may spell it right unasked."""


def written(
    codec: Codec,
    *,
    file: Key | None = None,
    agent: Key | str | None = None,
    lock: Key | str | None = None,
    drift: str = "",
    effect: Effect = "none",
    gives_nothing: bool = False,
) -> dict[str, Written]:
    """The metadata of a field that files hold; where a later key differs in its text alone, it is that text."""
    if isinstance(agent, str):
        agent = file and file._replace(doc=agent)
    if isinstance(lock, str):
        first = file or agent
        lock = first and first._replace(doc=lock)
    return {"written": Written(codec, file, agent, lock, drift, effect, gives_nothing)}


@cache
def written_fields(cls: type) -> Mapping[str, Written]:
    """The statements of a class's fields about themselves, by field name, for those in files."""
    return {stated.name: stated.metadata["written"] for stated in fields(cls) if "written" in stated.metadata}


@cache
def names_of(cls: type, kind: FileKind) -> Mapping[str, str]:
    """The keys of one kind of file to the fields of a class that they hold."""
    keys = {name: getattr(stated, kind) for name, stated in written_fields(cls).items()}
    return {key.name: name for name, key in keys.items() if key}


def giving_nothing(cls: type) -> frozenset[str]:
    """The keys of a file that hold fields of a class and can give no permission."""
    stated = written_fields(cls)
    return frozenset(key for key, name in names_of(cls, "file").items() if stated[name].gives_nothing)


def stated_at(cls: type, key: str) -> Written | None:
    """The statements of the field under a key of the lock; None if there is no such field."""
    name = names_of(cls, "lock").get(key)
    return written_fields(cls)[name] if name else None


@cache
def words_of(cls: type) -> Mapping[str, str]:
    """The keys of a lock to the words for a change of their field, if it has such words."""
    return {
        stated.lock.name: stated.drift
        for stated in written_fields(cls).values()
        if stated.lock and stated.drift
    }


class _Encoding(NamedTuple):
    """The way the values of a class are written to the lock."""

    values_of: Callable[[object], tuple[object, ...]]
    keys: tuple[tuple[str, object, Encoder | None], ...]
    """The key of each value, its default, and its encoder."""


@cache
def _encoding(cls: type) -> _Encoding:
    keys: dict[str, tuple[str, object, Encoder | None]] = {}
    for stated in fields(cls):
        how = written_fields(cls).get(stated.name)
        if how and (how.lock or how.codec.encode is None):
            key = how.lock.name if how.lock else ""
            keys[stated.name] = (key, stated.default, how.codec.encode)
    return _Encoding(attrgetter(*keys), tuple(keys.values()))


def encoded(value: object, several: Mapping[str, Json] = MappingProxyType({})) -> dict[str, Json]:
    """The table of a lock for `value`, without defaults, None and empty values.

    `several` replaces the field that has several keys.
    """
    cls: type = value.__class__
    encoding = _encoding(cls)
    table: dict[str, Json] = {}
    for (key, default, encode), held in zip(encoding.keys, encoding.values_of(value), strict=True):
        if held is default or held == default:
            continue
        if encode is None:
            table.update(several)
        elif (written_as := encode(held)) is not None:
            table[key] = written_as
    return table


@cache
def _decoders(cls: type, kind: FileKind) -> Mapping[str, tuple[str, Decoder | None]]:
    stated = written_fields(cls)
    return {key: (name, stated[name].codec.decode) for key, name in names_of(cls, kind).items()}


def decoded(
    cls: type[Made], kind: FileKind, table: Mapping[str, object], origin: ValueOrigin, /, **others: object
) -> Made:
    """The value of class `cls` in a table, with `others` of its fields.

    Unknown keys are ignored.
    """
    described: type = cls
    decoders = _decoders(described, kind)
    document, route, owner = origin
    values = {}
    for key, value in table.items():
        if decoder := decoders.get(key):
            name, decode = decoder
            values[name] = (
                value if decode is None else decode(value, ValueOrigin(document, (*route, key), owner))
            )
    return cls(**values, **others)


def reference(name: str, origin: ValueOrigin) -> Reference | None:
    """The name at a place; None for none."""
    return Reference(name, Place(origin.document, origin.route)) if name else None


def _decision(value: Json) -> Decision:
    """The decision in a file, which its format has judged; anything else would block."""
    return next((decision for decision in STRICTNESS if decision == value), "blocked")


def rules(table: Mapping[str, Json], origin: ValueOrigin) -> tuple[Rule, ...]:
    """The rules of one table, sorted by capability."""
    document, route, owner = origin
    return tuple(
        sorted(
            (
                Rule(
                    Capability.parse(text),
                    _decision(decision),
                    owner,
                    Place(document, (*route, text), of_key=True),
                )
                for text, decision in table.items()
            ),
            key=lambda rule: str(rule.capability),
        )
    )


def flows(table: Mapping[str, Json], origin: ValueOrigin) -> Flows:
    """The flow rules of one table, sorted by content."""
    document, route, owner = origin
    stated = [
        FlowRule(*parse_flow(text), _decision(decision), owner, Place(document, (*route, text), of_key=True))
        for text, decision in table.items()
        if text not in (PRESET, MAX_BITS)
    ]
    preset = next((preset for preset in PRESETS if preset == table.get(PRESET)), None)
    rules = tuple(sorted(stated, key=lambda rule: rule.flow))
    return Flows(preset, rules, cast("int | None", table.get(MAX_BITS)), owner)


def encoded_flows(flows: Flows) -> dict[str, Json]:
    """Flow to decision, the preset and the most bits of a closed answer."""
    preset: dict[str, Json] = {PRESET: flows.preset} if flows.preset else {}
    bits: dict[str, Json] = {MAX_BITS: flows.max_bits} if flows.max_bits is not None else {}
    return {**preset, **bits, **{rule.flow: rule.decision for rule in flows.rules}}


def labelled_sources(table: Mapping[str, Json], origin: ValueOrigin) -> tuple[LabelledSource, ...]:
    """The labels in `[sources]`, sorted by capability."""
    document, route, _ = origin
    stated = (
        LabelledSource(
            Capability.parse(text), Capability.parse(str(label)), Place(document, (*route, text), of_key=True)
        )
        for text, label in table.items()
    )
    return tuple(sorted(stated, key=lambda source: str(source.capability)))


def ceiling(texts: Iterable[str] | None) -> tuple[Capability, ...] | None:
    """The capabilities of a `may`, sorted; None if it is absent, which differs from an empty one."""
    return None if texts is None else _capabilities(tuple(texts))


@lru_cache(maxsize=1_024)  # whole teams have the same ceiling, and what is one object is compared at once
def _capabilities(texts: tuple[str, ...]) -> tuple[Capability, ...]:
    return tuple(sorted({Capability.parse(text) for text in texts}, key=str))


def encoded_rules(rules: Iterable[Rule]) -> dict[str, Json]:
    """Capability to decision."""
    return {str(rule.capability): rule.decision for rule in rules}


def _references(names: Iterable[str], origin: ValueOrigin) -> tuple[Reference, ...]:
    document, route, _ = origin
    by_name = {name: Reference(name, Place(document, (*route, number))) for number, name in enumerate(names)}
    return tuple(by_name[name] for name in sorted(by_name))


def _same(value: Json) -> Json:
    return value


def table_of(cls: type[object]) -> Codec:
    """The codec of a value whose own fields are the keys of a table, the same in every file."""
    return Codec(
        lambda value: encoded(value) or None,
        lambda table, origin: decoded(cls, "lock", table, origin),
        cls,
    )


NOWHERE = ValueOrigin(Document(Source("", ""), {}, dict), ())
"""Of values without names in them, whose place is not needed."""

PLAIN = Codec(_same, None)
REFERENCE = Codec(lambda name: name.name, reference)
FOLDER = Codec(lambda name: name.name, lambda text, origin: reference(text.rstrip("/"), origin))
REFERENCES = Codec(lambda names: [name.name for name in names], _references)
CAPABILITIES = Codec(
    lambda ceiling: [str(capability) for capability in ceiling], lambda texts, _: ceiling(texts)
)
CAPABILITY = Codec(str, lambda text, _: Capability.parse(text))
RULES = Codec(encoded_rules, rules)
FLOWS = Codec(lambda stated: encoded_flows(stated) or None, flows)
WORDS = Codec(list, lambda words, _: tuple(words))
SORTED_WORDS = Codec(list, lambda words, _: tuple(sorted(set(words))))
LINES = Codec(lambda text: text.split("\n"), lambda lines, _: "\n".join(lines))
SETTINGS = Codec(lambda table: dict(sorted(table.items())) or None, None)

CONFIGURE = written(
    SETTINGS,
    file=Key(
        "configure",
        "CodeToolsets",
        "How the toolsets are configured whose tools it calls: name to configuration, as in a worker.",
    ),
    lock=Key("configure", "CodeToolsets", "The configuration of the toolsets that it calls."),
)
"""Of everything with code that may call tools: entries and toolsets."""
SEVERAL = Codec(None, None)
"""Of a field under several keys."""
