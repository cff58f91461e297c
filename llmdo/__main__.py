"""The entry point. `check`, `runs`, help and completion are dispatched before anything heavy is imported."""

from __future__ import annotations

import errno
import gc
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first: a workspace's `json.py` would stand in for the library's.
    del sys.path[0]


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST_NAME = 60  # characters of a path that are shown where it is too long

_BRIEF = frozenset(
    {
        "check",
        "diff",
        "explain",
        "graph",
        "hook",
        "reach",
        "scan",
        "schema",
        "suggest",
        "why",
        "--version",
        "--help",
        "-h",
        "__complete",
    }
)
"""The commands that only read."""


def main() -> int:
    """Runs the command line and returns its exit code.

    0 fine, 1 findings or a failed run, 2 could not go on, 130 interrupted.
    """
    words = located(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away, as `head` does: there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        from llmdo.base.diagnostic import LlmdoError
        from llmdo.cli.console import say_error

        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            # Any option can name a file, and no path is so long: it is the words that are wrong.
            name = str(error.filename)
            error = LlmdoError(f"`{name[:LONGEST_NAME]}...` is too long for a path")
        if not isinstance(error, LlmdoError):
            raise
        say_error(error)
        return error.exit_code


_OF_PROJECTS = frozenset(
    {"batch", "chat", "check", "diff", "graph", "lock", "page", "reach", "suggest", "trust", "why"}
)
"""The commands in which a manifest or a team in one file may stand first, for `--project` and its folder."""


def located(words: Sequence[str]) -> list[str]:
    """The words of a command, in which a manifest or a file of a team that follows its name is the project."""
    names_file = len(words) > 1 and words[1].endswith(("llmdo.toml", ".yaml", ".yml", ".md"))
    if not (names_file and words[0] in _OF_PROJECTS and os.path.isfile(words[1])):  # noqa: PTH113
        return list(words)
    return [words[0], "--project", *words[1:]]


def _dispatch(words: Sequence[str]) -> int:
    if list(words) == ["--version"]:
        from llmdo.version import __version__

        print(f"llmdo {__version__}")
        return 0
    if words[:1] == ["__complete"]:
        from pathlib import Path

        from llmdo.cli.completion import complete

        print("\n".join(complete(words[1:], Path.cwd())))
        return 0
    if not words or words[0] == "help" or words[-1] in ("-h", "--help"):
        from llmdo.cli import former, helping

        words = former.current(helping.asked(words))
        if help_text := helping.text(words, os.environ):
            sys.stdout.write(help_text)
            return 0
    if (code := _answered_quickly(words)) is not None:
        return code
    from llmdo.cli import former
    from llmdo.cli.app import run

    return run(former.current(words))


def _answered_quickly(words: Sequence[str]) -> int | None:
    """The exit code of a command that needs no command-line library; None where that has to read the words."""
    if words[:1] == ["scan"]:
        from llmdo.cli import scanning

        if scan := scanning.parse(words[1:]):
            return scanning.scan(scan)
    elif words[:1] == ["check"] and "--from" in words:
        from llmdo.cli import foreign

        if request := foreign.parse(words[1:]):
            return foreign.check(request)
    elif words[:1] == ["runs"]:
        from llmdo.cli import quick

        if (asked_runs := quick.listing(words[1:], os.environ)) is not None:
            from llmdo.cli import history

            return history.list_as_asked(asked_runs)
    elif words[:1] == ["check"]:
        from llmdo.base.colour import has_colour
        from llmdo.cli import quick

        quick_options = quick.options(words[1:])
        if quick_options is not None:
            colour = has_colour(sys.stdout, os.environ)
            if known := quick.remembered(quick_options, os.environ, colour=colour):
                sys.stdout.write(known[1])
                return known[0]
        from llmdo.cli import check

        if options := check.parse(words[1:]):
            return check.run(options)
    elif quick_module := _quick_module(words):
        from importlib import import_module

        code: int | None = import_module(quick_module).answered(words[1:], os.environ)
        return code
    return None


def _quick_module(words: Sequence[str]) -> str | None:
    """The module `quick` of the feature that is called as its command, if it has one: nothing else is imported."""
    if not words or not words[0].isidentifier():
        return None
    folder = os.path.dirname(__file__)  # noqa: PTH120
    is_there = os.path.isfile(f"{folder}/features/{words[0]}/quick.py")  # noqa: PTH113
    return f"llmdo.features.{words[0]}.quick" if is_there else None


def script() -> None:
    """Runs the command line as a program of its own, and ends it."""
    if not {*sys.argv[1:2]} & _BRIEF:
        from llmdo.cli import garbage

        garbage.postpone()
        sys.exit(main())
    # These end soon and make hardly a cycle, so what Python would tidy up, in between and at the end, the system
    # does in no time.
    gc.disable()
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 141
    os._exit(code)


if __name__ == "__main__":
    script()
