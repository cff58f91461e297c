"""Programs that execute code named by their arguments or found in their working folder."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON = frozenset({"python", "pythonw", "pypy", "ipython"})
HOSTS = frozenset({
    "fastmcp", "mcp", "uvicorn", "gunicorn", "hypercorn", "granian", "daphne", "fastapi", "flask", "streamlit",
    "litestar",
})  # fmt: skip
"""Programs that load Python named by their arguments."""
INTERPRETERS = frozenset({
    "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ts-node-esm", "esr", "swc-node", "ruby", "perl", "php", "lua",
    "luajit", "rscript", "julia", "java", "kotlin", "groovy", "scala", "elixir", "escript", "swift", "osascript",
    "tclsh", "wish", "guile", "racket", "sbcl", "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "csh", "tcsh",
    "busybox", "pwsh", "powershell", "cmd", "awk", "gawk", "dart", "clojure", "clj", "bb", "rackup", "puma", "unicorn",
})  # fmt: skip
"""Programs that execute a file or folder named by their arguments."""
RUNNERS = frozenset({
    "make", "gmake", "bmake", "just", "task", "rake", "bundle", "npm", "pnpm", "yarn", "cargo", "go", "dotnet",
    "gradle", "gradlew", "mvn", "mvnw", "ant", "sbt", "mill", "mix", "rebar", "stack", "cabal", "dune", "zig", "nox",
    "tox", "invoke", "inv", "fab", "doit", "poe", "taskipy", "ninja", "bazel", "buck", "nix", "nix-shell", "nix-run",
    "devbox", "devenv", "mise", "rtx", "asdf", "direnv", "docker-compose", "foreman", "overmind", "honcho", "turbo",
    "nx", "lerna", "rush", "moon", "env", "nice", "nohup", "timeout", "xargs", "setsid", "stdbuf", "time", "watch",
    "watchexec", "entr", "nodemon", "pm2", "supervisord", "composer", "artisan", "rails", "mvnd", "hatch", "rye",
    "pixi", "conda", "mamba", "micromamba", "lein",
})  # fmt: skip
"""Programs that execute the content of their working folder."""
WRAPPERS = {"uv": "run", "poetry": "run", "pdm": "run", "pipenv": "run", "hatch": "run", "rye": "run"}
"""Programs that execute the words behind this one, with the settings of a Python project."""
OF_PROJECTS = ("pyproject.toml", "uv.lock", "uv.toml", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock")
OF_FETCHERS = (
    "node_modules",
    "package.json",
    ".npmrc",
    "bunfig.toml",
    ".yarnrc.yml",
    "uv.toml",
    "pyproject.toml",
)
"""Files that package fetchers look for first."""
SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "csh", "tcsh", "busybox", "pwsh", "powershell", "cmd"}
)
"""Those of `INTERPRETERS` that take whole commands."""
CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
"""Programs that start images, which are no part of a workspace unless built from it."""
AMBIGUOUS = frozenset({
    "ant", "buck", "cmd", "dune", "entr", "env", "go", "inv", "java", "just", "make", "mcp", "mill", "mix", "moon",
    "nice",     "perl", "poe", "rush", "scala", "stack", "swift", "task", "time", "timeout", "watch", "zig",
})  # fmt: skip
"""Names of programs that are words of other programs as well."""
AROUND = ("package.json", "tsconfig.json", "jsconfig.json", "deno.json", "deno.jsonc", ".npmrc")
"""Files that interpreters look for in the folders around a program."""
IN_FOLDERS = frozenset({
    "--app-dir", "--chdir", "--cwd", "--directory", "--file", "--makefile", "--prefix", "--project", "--root-dir", "-C",
    "-f",
})  # fmt: skip
"""Options followed by the folder or file that a program works in."""
OF_PACKAGES = frozenset({"--from", "--package", "-p"})
"""Options followed by the package to fetch."""
TAKING = frozenset(
    {"--with", "--with-requirements", "--python", "--env-file", "--extra", "--group", "--index", "-p"}
)
"""Options of `WRAPPERS` that take the next word."""
FETCHERS = frozenset({"npx", "bunx", "pnpx", "uvx"})
"""Programs that fetch a package and run it."""

FETCHING = {
    "npm": ("exec", "x"),
    "pnpm": ("dlx",),
    "yarn": ("dlx",),
    "pipx": ("run",),
    "uv": ("tool", "run"),
    "bun": ("x",),
}
"""Programs that do so with one of these words first."""

_VERSION = re.compile(r"[0-9.]+t?$")


def plain_name(program: str) -> str:
    """The name of a program without its folder, version and case: `python` of `/usr/bin/python3.11`."""
    return _VERSION.sub("", posixpath.basename(program).lower().removesuffix(".exe"))


def is_language(word: str) -> bool:
    """Whether a word is plainly a program that executes the words behind it or the content of its folder."""
    name = plain_name(word)
    known = any(name in kind for kind in (PYTHON, HOSTS, INTERPRETERS, RUNNERS, WRAPPERS))
    return known and name not in AMBIGUOUS


def fetches(program: str, args: Sequence[str]) -> bool:
    """Whether `program` with these words fetches a package and runs that."""
    if program == "uv":  # whose own `run` is about the project
        return bool(args) and args[0] == "tool"
    return program in FETCHERS or (bool(args) and args[0] in FETCHING.get(program, ()))
