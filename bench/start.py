"""Times what a command costs before its work begins: CPU time, each beside a yardstick that has the same to do.

python -m bench.start [--rounds 15] [--workers 1000]

`llmdo run` of `examples/greeter`, with a model in Python, stands beside a program that gives the same prompt and the
same model to bare pydantic-ai. The commands take turns, and the least of many rounds counts: it is what the command
needs, and the rest is what else the machine did. `make bench` installs uv.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.check import BIN, Case, Meter, llmdo_cases, measured, peer_cases, version
from bench.generate import Shape, generate
from llmdo.base import resources

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = """\
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


def greet(messages, info):
    return ModelResponse(parts=[TextPart("Hello Ada, how nice to meet you!")])


rules = FunctionModel(greet, model_name="rules")
"""

BARE = """\
from pydantic_ai import Agent

from models import rules

agent = Agent(rules, name="main", instructions={prompt!r})
print(agent.run_sync("Hello, I am Ada.").output)
"""

PASS, BARE_RUN, RUN = "python -c pass", "the greeter in bare pydantic-ai", "llmdo run of the greeter"
HELP, HELP_OF_RUN = "llmdo --help", "llmdo run --help"


def greeter_cases(folder: Path) -> Iterator[Case]:
    """A run of the greeter with a model in Python and its journal, and the same agent without llmdo."""
    shutil.copytree(resources.folder("examples") / "greeter", folder, ignore=shutil.ignore_patterns(".llmdo"))
    _, _, prompt = (folder / "workers" / "main.worker").read_text(encoding="utf-8").split("---\n", 2)
    (folder / "bare.py").write_text(BARE.format(prompt=prompt), encoding="utf-8")
    (folder / "models.py").write_text(MODEL, encoding="utf-8")
    manifest = folder / "llmdo.toml"
    scripted = manifest.read_text(encoding="utf-8")
    manifest.write_text(scripted.replace("script:models.yaml", "python:models.py:rules"), encoding="utf-8")
    subprocess.run([str(BIN / "llmdo"), "lock"], cwd=folder, check=True, capture_output=True)
    yield Case(name=BARE_RUN, words=[sys.executable, "bare.py"], folder=folder)
    yield Case(name=RUN, words=[str(BIN / "llmdo"), "run", "--locked"], folder=folder)


def report(used: dict[str, float], workers: int) -> Iterator[str]:
    """The least CPU time of each, and the ratios that have a target."""
    yield f"{'command':58} {'CPU ms':>8}"
    for name, cpu in used.items():
        yield f"{name:58} {cpu:8.1f}"
    yield ""
    cold, warm = (f"llmdo check, {workers:,} workers, {state}" for state in ("cold", "nothing changed"))
    for name, other, most in (
        (RUN, BARE_RUN, "1.2"),
        (HELP, PASS, "60 ms"),
        (HELP_OF_RUN, PASS, "60 ms"),
        (cold, f"uv lock --check --offline, {workers:,} members", "1.5"),
        (cold, "the same with UV_PYTHON set", "1.5"),
        (warm, PASS, "1.5"),
    ):
        ratio = f"{used[name] / used[other]:.2f}" if {name, other} <= used.keys() else "not measured"
        yield f"{name} / {other}: {ratio} (target {most})"


def main() -> None:
    """Generates the inputs, measures, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--workers", type=int, default=1_000, help="of the workspace to check, 0 for no check"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("LLMDO_", "UV_"))}
        # An installed tool has its bytecode, and so has everything it imports.
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        environ["XDG_CACHE_HOME"] = environ["XDG_STATE_HOME"] = str(folder / "cache")
        compileall.compile_dir(str(Path(__file__).parents[1] / "llmdo"), quiet=1)
        meter = Meter(environ)
        cases = [
            Case(name=PASS, words=[sys.executable, "-c", "pass"], folder=folder),
            Case(name=HELP, words=[str(BIN / "llmdo"), "--help"], folder=folder),
            Case(name=HELP_OF_RUN, words=[str(BIN / "llmdo"), "run", "--help"], folder=folder),
            *greeter_cases(folder / "greeter"),
        ]
        if chosen.workers:
            root = folder / "workspace"
            root.mkdir()
            generate(root, Shape(workers=chosen.workers))
            states = llmdo_cases(root, chosen.workers, meter, folder / "cache" / "llmdo")
            cases += [case for case in states if not case.name.endswith("edited")]
            cases += [case for case in peer_cases(folder, chosen.workers) if Path(case.words[0]).name == "uv"]
        print(
            f"{sys.version.split()[0]} on {os.cpu_count()} cores; CPU time, least of {chosen.rounds} rounds"
        )
        pydantic_ai = f"pydantic-ai {importlib.metadata.version('pydantic-ai-slim')}"
        print("; ".join((version("llmdo"), version("uv"), pydantic_ai)), "\n")
        used_by_case = measured(cases, meter, chosen.rounds)
        meter.close()
    least = {name: min(each.cpu for each in used) for name, used in used_by_case.items()}
    print("\n".join(report(least, chosen.workers)))


if __name__ == "__main__":
    main()
