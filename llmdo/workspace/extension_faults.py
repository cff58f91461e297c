"""The faults of the value of an installed extension: what it may not say, although Python lets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from llmdo.base.codes import CODES
from llmdo.base.diagnostic import excerpt
from llmdo.base.values import fields, replace
from llmdo.extensions.fitting import misfit
from llmdo.extensions.spec import AUTO, Extension
from llmdo.policy.vocabulary import ROOTS

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

_MODULE = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
REFERENCE = re.compile(rf"{_MODULE}:[^\W\d]\w*")
"""`package.module:NAME`."""

_PACKAGE = re.compile(_MODULE)
_CODE = re.compile(r"(?!LDO)[A-Z][A-Z0-9]{1,11}[0-9]{3}")
_ANY_CODE = re.compile(r"[a-z][a-z0-9]{1,11}[0-9]{3}")
_WORDS = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_CAPABILITY = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9_-]+)+")
_FOR_EVERYBODY = ("name", "checks", "formats", "evaluators", "capabilities")


def plain_copy(extension: Extension) -> Extension:
    """The same extension, whose mappings nobody else holds and none of which is code."""
    return replace(
        extension,
        checks=_plain(extension.checks),
        formats=_plain(extension.formats),
        evaluators=_plain(extension.evaluators),
        capabilities=_plain(extension.capabilities),
    )


def _plain(stated: T) -> T:
    return cast("T", dict(stated)) if isinstance(stated, Mapping) else stated


def modules_of(extension: Extension) -> set[str]:
    """The modules that an extension names."""
    references = [*(check.function for check in extension.checks.values()), *extension.evaluators.values()]
    packages = [form.package for form in extension.formats.values()]
    return {*packages, *(reference.partition(":")[0] for reference in references)}


def faults(extension: Extension) -> Iterator[str]:
    """The faults of an extension, as clauses to follow "its"."""
    for stated in fields(Extension):
        if stated.name not in _FOR_EVERYBODY and getattr(extension, stated.name):
            yield f"`{stated.name}` is for parts of llmdo itself"
    if fault := misfit(extension, Extension):
        yield fault
        return
    if not _WORDS.fullmatch(extension.name):
        yield f"name `{excerpt(extension.name)}` is not one of lower-case words with `-` between them"
    yield from _of_checks(extension)
    yield from _of_formats(extension)
    yield from _of_evaluators(extension)
    yield from _of_capabilities(extension)


def _of_checks(extension: Extension) -> Iterator[str]:
    taken = {name for name, _ in CODES.values()}
    for code, check in extension.checks.items():
        if not _CODE.fullmatch(code):
            yield f"`{excerpt(code)}` is not a code such as `ACME001`, which does not begin with `LDO`"
        elif not _WORDS.fullmatch(check.name) or _ANY_CODE.fullmatch(check.name) or check.name in taken:
            yield f"`{excerpt(check.name)}` is not a name for a check, or is that of another one"
        elif not REFERENCE.fullmatch(check.function):
            yield _no_reference(code, check.function)
        taken.add(check.name)


def _of_formats(extension: Extension) -> Iterator[str]:
    for name, form in extension.formats.items():
        if not _WORDS.fullmatch(name) or name == AUTO:
            yield _no_name("format", name)
        elif not _PACKAGE.fullmatch(form.package):
            yield f"format `{name}` has the package `{excerpt(form.package)}`, which is not written `package.module`"
        elif not form.files:
            yield f"format `{name}` names no files"
        for pattern in form.files:
            if not _is_glob(pattern):
                yield f"format `{name}` has `{excerpt(pattern)}` among its files, which is no glob of relative paths"


def _of_evaluators(extension: Extension) -> Iterator[str]:
    for name, reference in extension.evaluators.items():
        if not _WORDS.fullmatch(name):
            yield _no_name("evaluator", name)
        elif not REFERENCE.fullmatch(reference):
            yield _no_reference(name, reference)


def _of_capabilities(extension: Extension) -> Iterator[str]:
    for name, family in extension.capabilities.items():
        if not _CAPABILITY.fullmatch(name) or name.partition(".")[0] in ROOTS:
            yield f"`{excerpt(name)}` is not a capability such as `acme.send`, or begins as one of llmdo does"
        elif not family.meaning.strip() or not family.meaning.isprintable():
            yield f"capability `{name}` does not say in one line what a call does"


def _is_glob(pattern: str) -> bool:
    return pattern.isprintable() and not {"", ".", ".."} & {*pattern.split("/")}


def _no_name(kind: str, name: str) -> str:
    return f"{kind} `{excerpt(name)}` has not a name of lower-case words with `-` between them, other than `{AUTO}`"


def _no_reference(of_what: str, reference: str) -> str:
    return f"`{of_what}` leads to `{excerpt(reference)}`, which is not written `package.module:NAME`"
