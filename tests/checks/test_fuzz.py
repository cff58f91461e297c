"""Real manifests, headers and locks with bytes changed at random: findings, never a traceback."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.formats.schema import judge
from llmdo.render.formats import rendered
from llmdo.render.report import Report
from llmdo.syntax import discovery, frontmatter
from llmdo.workspace import lock, project
from tests.support.laws import share

EXAMPLES = Path(__file__).parents[2] / "examples"
PIECES = [
    b"\x00",
    b"\xff",
    b"\n",
    b"\r\n",
    b"[",
    b"]]",
    b"{",
    b'"',
    b"'",
    b"---",
    b": ",
    b"&a",
    b"*a",
    b"<<",
    b"= ",
    b"\t",
    b"\xe2\x80\xae",
]
PIECES += [b"9" * 40, b"-" * 40, b"..", b"/", b"proc.exec", b"may = []", b"\\u0000", b"#", b"!!python/object"]


def mutated(content: bytes, chance: random.Random) -> bytes:
    """`content` with a few bytes changed, cut, doubled or put in."""
    out = bytearray(content)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(out) + 1)
        end = min(len(out), at + chance.randrange(1, 30))
        match chance.randrange(4):
            case 0:
                out[at:at] = chance.choice(PIECES)
            case 1:
                del out[at:end]
            case 2:
                out[at:at] = out[at:end]
            case _:
                out[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(out)


def seeds(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(EXAMPLES.glob(pattern))]


def fuzz_headers(chance: random.Random, count: int) -> None:
    files = seeds("*/workers/*.worker")
    for _ in range(count):
        source, problems = discovery.decode("a.worker", mutated(chance.choice(files), chance))
        if not problems:
            text = frontmatter.parse(source)
            for finding in judge(text.document, "worker").problems:
                assert finding.message


def fuzz_locks(chance: random.Random, count: int) -> None:
    files = seeds("*/llmdo.lock")
    for _ in range(count):
        source, problems = discovery.decode("llmdo.lock", mutated(chance.choice(files), chance))
        if not problems:
            read = lock.read(source)
            assert (read.graph is None) == (read.state != "read")


def fuzz_manifests(chance: random.Random, count: int, root: Path) -> None:
    shutil.copytree(EXAMPLES / "confused_deputy", root, dirs_exist_ok=True)
    files = seeds("*/llmdo.toml")
    for _ in range(count):
        (root / "llmdo.toml").write_bytes(mutated(chance.choice(files), chance))
        findings = checks.check(project.read(root))
        rendered(Report(findings=findings), "text")


@pytest.mark.long
@pytest.mark.parametrize("number", range(3))
def test_a_few_hundred_mutations_end_in_findings(number: int, tmp_path: Path) -> None:
    chance = random.Random(number)
    fuzz_headers(chance, 300)
    fuzz_locks(chance, 100)
    fuzz_manifests(chance, 60, tmp_path)


@pytest.mark.long
def test_thousands_of_mutations_end_in_findings(tmp_path: Path) -> None:
    chance = random.Random(20_000)
    fuzz_headers(chance, share(12_000))
    fuzz_locks(chance, share(4_000))
    fuzz_manifests(chance, share(4_000), tmp_path)
