"""The capability of a pattern of commands, in formats that allow a shell by the beginnings of its commands."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from llmdo.foreign.gh import GH, of_gh, shown_by_gh, written_by_gh
from llmdo.foreign.lines import EDITS, FETCHES, WRITES
from llmdo.policy.authority import Capability
from llmdo.policy.shell.programs import (
    BEFORE_PROGRAMS,
    OPEN_BY_OPTION,
    RUNNERS,
    VALUED,
    WRAPPERS,
    is_launcher,
)
from llmdo.policy.shell.rules import EXEC, UNLISTED, ShellRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_REST = re.compile(r"(?::\*|\s*\*)\s*$")
"""Endings of a pattern that let anything follow: `git log:*`, `git log *`, `git log*`."""
_STEM = re.compile(r"[^\s:*]\*\s*$")
"""The end of a pattern that lets its last word go on, as `git log*` does."""
_LITERAL = re.compile(r".*\*.*:\*\s*", re.DOTALL)
"""A pattern before whose `:*` another `*` stands: clients take all before `:*` as it is, and no command begins so."""
_SHORT = len("-x")
"""The letters of an option whose value may follow in the same word."""
_RULE = re.compile(r"(?:Bash|run_shell_command|shell)\((?P<pattern>[^()]*)\)")
"""A rule about commands, as the permissions of agents have it."""
_COMMAND = re.compile(r"(?:Bash|PowerShell|ShellTool|run_shell_command|shell)\([^()]*\)")
"""A shell with a pattern of commands, as lists of tools have it, by older names as well."""
_BY_OPTION = {
    **{beginning: options[0] for beginning, options in OPEN_BY_OPTION.items()},
    **dict.fromkeys(("bazel run", "bazel test", "bazelisk run", "bazelisk test"), "--run_under"),
    "bsdtar": "--use-compress-program", **dict.fromkeys(("bun add", "bun i", "bun install"), "--trust"),
    "cargo bench": "--config", "cargo test": "--config", "checkov": "--external-checks-git",
    **dict.fromkeys(("deno bench", "deno test"), "https://"), "deno install": "--allow-scripts",
    **dict.fromkeys(("dotnet build", "dotnet msbuild", "dotnet pack", "dotnet publish", "dotnet test"), "-p"),
    "duckdb": ".shell", "gmake": "--eval", "go build": "-toolexec", "go test": "-exec", "go vet": "-vettool",
    "gsed": "e", "gtar": "--checkpoint-action", "make": "--eval", **dict.fromkeys(("mvn", "mvnw"), "exec:exec"),
    "mysql": "\\!", "psql": "\\!",
    "rsync": "-e", "sed": "e", "sqlite3": ".shell", "ssh": "ProxyCommand", "tar": "--checkpoint-action",
    "vagrant ssh": "ProxyCommand", **dict.fromkeys(("wget", "wget2"), "--use-askpass"), "wp": "--exec",
    **dict.fromkeys(("gallery-dl", "youtube-dl", "yt-dlp"), "--exec"), "zip": "-TT",
}  # fmt: skip
"""Beginnings of commands that run others by an option or another word, which may follow as well."""
_RUN_BY_OPTION = {tuple(beginning.split()): option for beginning, option in _BY_OPTION.items()}
_UNSEEN = {tuple(each.split()): option for each, option in _BY_OPTION.items() if each not in OPEN_BY_OPTION}
"""Those of them that only the client's rules are about."""
_OPEN = frozenset({
    # what runs the command that it is given
    ".", "Invoke-Expression", "Start-Process", "builtin", "bunx", "cmd", "concurrently", "cross-env", "dotenv",
    "c8", "hyperfine", "lima", "nyc", "source", "wsl",
    # what runs a command elsewhere, or with secrets or programs that it lacks
    "aws-vault", "chamber", "ddev", "devbox", "devcontainer", "direnv", "distrobox", "distrobox-enter", "doppler",
    "dotenvx", "flox", "incus", "infisical", "limactl", "multipass", "op", "opam", "toolbox",
    # what fetches the program or package that it is given, and runs it
    "cookiecutter", "dnx", "earthly", "jbang", "nextflow", "nlx", "pnpx", "scala-cli", "streamlit", "wasmer",
    # interpreters
    "bb", "clj", "crystal", "dart", "iex", "nim", "py", "runghc",
    # build tools and frameworks: their files are programs, or one of their commands takes code
    "artisan", "bazelisk", "cabal", "django", "django-admin", "doit", "drush", "dune", "fab", "flask", "flutter",
    "grunt", "gulp", "inv", "invoke", "lein", "lerna", "mage", "manage.py", "micromamba", "mise", "mix",
    "mvnw", "nx", "pipenv", "rails", "rye", "sail", "sbt", "scrapy", "stack", "tofu", "turbo",
    "buck", "buck2", "conan", "dub", "jake", "mill", "nimble", "pants", "phing", "rebar3", "robo", "thor", "waf",
    "xmake",
    # test runners
    "ava", "bats", "behat", "behave", "busted", "codecept", "codeceptjs", "ctest", "cucumber", "cucumber-js",
    "cypress", "detox", "ginkgo", "gotestsum", "jasmine", "kaocha", "karma", "lettuce", "nightwatch", "nose2",
    "nosetests", "paratest", "pest", "phpspec", "phpunit", "prove", "pybot", "radish", "robot", "stestr", "tap", "tape",
    "testcafe", "trial", "uvu", "wdio", "web-test-runner", "wtr",
    # scanners that run their plugins
    "trivy",
    # clouds: `configure set credential_process`, `ssh` with a `ProxyCommand`
    "aws", "az", "gcloud",
    # agents, which run what they are told if a flag says so
    "aider", "claude", "codex", "copilot", "cursor-agent", "gemini", "opencode", "qwen",
})  # fmt: skip
"""Programs with an argument that is a command or code, beside those that shell rules know."""
_BEFORE_OTHERS = tuple(tuple(each.split()) for each in (
    "apptainer exec IMAGE", "apptainer run", "artisan tinker", "asdf exec", "aws-vault exec PROFILE", "brew install",
    "bun create", "bun run", "bun x", "bundle exec", "bunx", "cabal exec", "cabal run", "chamber exec SERVICE", "cmd",
    "codex exec", "command", "composer create-project", "composer exec", "composer run", "composer run-script",
    "conda run", "corepack", "cross-env", "dart run", "ddev exec", "deno create", "deno eval", "deno repl", "deno run",
    "deno serve", "deno task", "deno x", "devbox run", "devcontainer exec", "direnv exec DIR", "distrobox enter NAME",
    "distrobox-enter NAME", "doas", "docker buildx build", "docker compose", "docker compose exec SERVICE",
    "docker compose run SERVICE", "docker container exec CONTAINER", "docker container run IMAGE", "docker image build",
    "docker-compose exec SERVICE", "docker-compose run SERVICE", "doppler run", "dotenv", "dotenvx run", "dotnet exec",
    "dotnet fsi", "dotnet run", "dotnet tool exec", "drush ev", "drush php:eval", "dune exec", "env", "flask shell",
    "flatpak run", "flox activate", "flutter pub run", "fnm exec", "gcloud compute ssh", "gem exec", "hatch run",
    "heroku run", "incus exec INSTANCE", "infisical run", "jbang run", "lerna exec", "lima", "limactl shell INSTANCE",
    "lxc exec INSTANCE", "mamba run", "manage.py shell", "micromamba run", "mise exec", "mise x", "mix cmd", "mix eval",
    "mix run", "multipass exec INSTANCE", "nerdctl build", "nerdctl compose exec SERVICE", "nerdctl exec CONTAINER",
    "nerdctl run IMAGE", "nextflow run", "nice", "nohup", "npm create", "npm init", "npx", "nvm exec VERSION",
    "nx exec", "oc exec POD", "oc rsh POD", "op run", "opam exec", "opencode run", "pdm run", "php artisan",
    "php artisan tinker", "pip download", "pip wheel", "pip3 download", "pip3 wheel", "pipenv run", "pipx run",
    "pixi exec", "pixi run", "pnpm create", "pnpm exec", "pnpx", "podman compose exec SERVICE",
    "podman compose run SERVICE", "podman container exec CONTAINER", "podman container run IMAGE", "poetry run", "py",
    "py manage.py", "py manage.py shell", "pyenv exec", "python manage.py", "python manage.py shell",
    "python3 manage.py", "python3 manage.py shell", "rails c", "rails console", "rails runner", "railway run",
    "rbenv exec", "rye run", "sail", "scala-cli run", "scrapy shell", "singularity exec IMAGE", "singularity run",
    "snap run", "stack exec", "stack run", "streamlit run", "sudo", "swift run", "time", "timeout", "toolbox run",
    "trivy plugin", "trivy plugin run", "uv run", "volta run", "wasmer run", "wsl", "xargs", "yarn create", "yarn exec",
    "yarn workspace NAME", "zig run",
))  # fmt: skip
"""Beginnings of commands before a command or code; a word in capitals is any word."""
_VALUED = frozenset({
    "--app", "--config", "--container", "--cwd", "--env", "--env-file", "--file", "--filter", "--name", "--prefix",
    "--project", "--workdir", "--working-directory", "--workspace-folder", "-C", "-f", "-n", "-p",
})  # fmt: skip
"""Options of theirs whose value is the next word."""
_VALUED_OF = {"toolbox": ("-c", "-d", "-r")}
"""More of them that are so of a program alone."""
_NO_PROGRAM = re.compile(r"-.*|/[A-Za-z]|[A-Za-z_]\w*=.*|\d+[smhd]?")
"""Options, also those of `cmd`, variables and times before a program."""
_REQUESTS = frozenset({"curl", "curlie", "http", "https", "wcurl", "xh", "xhs"})
"""Programs that send a request, and write the answer to a file where an option says so; they run no other program."""
_BROWSERS = frozenset({
    "@playwright/cli", "agent-browser", "browsh", "elinks", "links", "links2", "lynx", "playwright-cli", "w3m",
})  # fmt: skip
"""Programs that show any page, also that of a file, and write what they show to a file."""
_FETCHERS = _REQUESTS | _BROWSERS | {"aria2c", "gallery-dl", "wget", "wget2", "youtube-dl", "yt-dlp"}
"""These, and programs that fetch what they are given the address of, and run another one by an option."""
_OF_FETCHERS = tuple(map(Capability, sorted({*EDITS, *FETCHES})))
_VERSIONED = re.compile(r"(?<=.)@[^/@]*$")
"""The version of a package, which goes behind its name."""
_SAVING = frozenset(
    tuple(each.split())
    for each in (
        "git diff", "git diff-files", "git diff-index", "git diff-tree", "git format-patch", "git log",
        "git range-diff", "git reflog", "git shortlog", "git show", "git stash show", "git whatchanged", "tree",
    )
)  # fmt: skip
"""Beginnings of commands that write what they show into a file by an option: `--output` of git, and `-o`."""
_OF_WRITING = tuple(map(Capability, WRITES))
_PLAIN_NAMES = frozenset({
    "as", "cat", "comm", "cp", "du", "gh", "ip", "pr", "ps", "set", "ss", "systemd", "tc", "tr",
})  # fmt: skip
"""Programs that whoever writes a `*` behind their names means, though names of `RUNNERS` begin so."""
_FIRST_NAMES = ("bash", "python", "node", "sh")
"""The programs to name of several that a word may go on to be."""
_OF_SYSTEM = re.compile(r"(?:/usr(?:/local)?|/opt/homebrew)?/s?bin")
_OF_PYTHON = re.compile(r"(?:.*/)?\.?v?env/(?:bin|Scripts)")
"""The folders of the programs of a system, and of an environment of Python."""
_OF_PACKAGES = re.compile(rf"{_OF_SYSTEM.pattern}|(?:.*/)?node_modules/\.bin|{_OF_PYTHON.pattern}")
"""The folders of programs that are no project's own."""

_SHOWING = frozenset({("command", "-V"), ("command", "-v")})
"""Beginnings of commands that only show the program of a name."""
BY_ARITHMETIC = "${a:='x[$(id)]'} ${HOME:a}"
"""Words of any command in which bash runs another, as it works out a number; some clients take them for plain."""


def is_command(tool: str) -> bool:
    """Whether a tool is a shell that a list allows for some commands alone."""
    return _COMMAND.fullmatch(tool) is not None


def commands(
    pattern: str, *, is_prefix: bool = False, asked: Collection[str] = (), sees_options: bool = False
) -> Capability:
    """The capability of the matching commands: every command, if a launcher or an interpreter may be given anything.

    `is_prefix`: anything may follow the pattern even if it does not say so. `asked`: programs of which the client asks
    about each call that runs another program, whatever a pattern allows. `sees_options`: whoever asks looks at the
    options of each command by himself, as `may_name_program` does.
    """
    if _LITERAL.fullmatch(pattern):
        return EXEC
    words = tuple(_REST.sub("", pattern).split())
    is_open = is_prefix or "*" in pattern
    if not words or "*" in words[0]:
        return UNLISTED if is_open else EXEC
    words = _before_open_quote(tuple(itertools.takewhile(lambda word: "*" not in word, words)))
    if words[:2] in _SHOWING:
        return EXEC
    if _name(words[0]) in _REQUESTS or words[0] in asked:
        return EXEC
    if _runner(pattern):
        return UNLISTED
    options = _UNSEEN if sees_options else _RUN_BY_OPTION
    return UNLISTED if is_open and _runs_others(tuple(map(_name, words)), options) else EXEC


def _before_open_quote(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words before the text, such as the code of `python -c '`, that goes on where they end; else all of them."""
    quote, start = "", len(words)
    for number, word in enumerate(words):
        for letter in word:
            if letter == quote:
                quote, start = "", len(words)
            elif not quote and letter in "'\"":
                quote, start = letter, number
    return words[:start] or words


def gone_on(pattern: str) -> Iterator[str]:
    """The pattern, and those for the commands that a word before its `*` may go on to be: `difftool` for `diff*`."""
    yield pattern
    *before, stem = _REST.sub("", pattern).split() or ("",)
    if before and not pattern.endswith(f" {stem} *"):
        known = {*BEFORE_PROGRAMS, *_BEFORE_OTHERS, *_RUN_BY_OPTION}
        others = {
            each[len(before)] for each in known if list(each[: len(before)]) == before and each[len(before) :]
        }
        yield from (f"{' '.join(before)} {each} *" for each in sorted(others) if each.startswith(stem))


def options_of(pattern: str) -> tuple[str, ...]:
    """The options by which the matching commands run any other, as far as they are known; the best known first."""
    words = _plain(tuple(map(_name, _REST.sub("", pattern).split())))
    beginnings = (words[:length] for length in range(len(words), 0, -1))
    beginning = next((each for each in beginnings if each in _RUN_BY_OPTION), None)
    return OPEN_BY_OPTION.get(" ".join(beginning), (_RUN_BY_OPTION[beginning],)) if beginning else ()


def with_option(pattern: str, option: str) -> tuple[str, ...]:
    """Examples of the matching commands with this option: first or last, its value in the same word or not."""
    start = _REST.sub("", pattern).replace("*", "x")
    forms = [f"{option} x"]
    if option.startswith("--"):
        forms.append(f"{option}=x")
    elif len(option) == _SHORT:
        forms.append(f"{option}x")
    return tuple(f"{start} {before}{form}" for before in ("", "x ") for form in forms)


def through(tool: str, held: Collection[str] = ()) -> str:
    """The rest of a sentence about a rule whose commands run any other, if an option or a word of theirs does that.

    `held` are the options about which another rule decides, by a text of them that need not be there: a quote, or less
    of a long name, and it is about none.
    """
    pattern = tool.partition("(")[2].removesuffix(")")
    if held:
        free = [each for each in options_of(pattern) if each not in held]
        which = f"`{free[0]}`" if free else f"`{next(iter(held))}` spelt otherwise than in the rule about it"
        return f", through {which}"
    words = _plain(tuple(map(_name, _REST.sub("", pattern).split())))
    options = (_RUN_BY_OPTION.get(words[:length]) for length in range(len(words), 0, -1))
    longer = (
        each for known, each in _RUN_BY_OPTION.items() if len(words) > 1 and known[: len(words)] == words
    )
    option = next(filter(None, options), None) or next(longer, None) or _runner(pattern)
    return f", through `{option}`" if option else ""


def by_arithmetic(pattern: str) -> str:
    """The words by which matching commands run any other; empty if an option or their program does that already.

    A client that looks for commands in a line sees none in a text in single quotes.
    """
    return BY_ARITHMETIC if commands(pattern, is_prefix=True) == EXEC else ""


def _runner(pattern: str) -> str:
    """The program that the last word of a pattern may go on to be, and that runs any other; empty without one.

    The word begins the command, or what another program runs.
    """
    *before, stem = _REST.sub("", pattern).split() or ("",)
    if not _STEM.search(pattern) or any("*" in word for word in (*before, stem)):
        return ""
    if before and not (_name(before[0]) in WRAPPERS and _runs_others(tuple(map(_name, before)), {})):
        return ""
    folder, stroke, name = stem.rpartition("/")
    is_of_python = _OF_PYTHON.fullmatch(folder)
    is_of_project = stroke and not is_of_python and not _OF_SYSTEM.fullmatch(folder)
    if is_of_project or name in _PLAIN_NAMES or is_launcher(name):
        return ""
    known = ["python"] if is_of_python else [*_FIRST_NAMES, *sorted(RUNNERS)]
    return next((each for each in known if each.startswith(name)), "")


def obscurity(tool: str) -> int:
    """How little a rule shows that its commands run any other, from 0 for a launcher or an interpreter alone."""
    pattern = tool.partition("(")[2].removesuffix(")")
    words = tuple(map(_name, _REST.sub("", pattern).split()))
    if by_arithmetic(pattern):
        return 4
    if through(tool):
        return 3
    if any(word.startswith("-") for word in words):
        return 2
    return 0 if len(words) == 1 and (words[0] in _OPEN or is_launcher(words[0])) else 1


def _name(word: str) -> str:
    """The name of a known program for its path, as in `.venv/bin/python` or `cmd.exe`; any other word as it is."""
    name = re.split(r"[/\\\\]", word)[-1].removesuffix(".exe")
    is_known = name in _OPEN or is_launcher(name) or any(name == first for first, *_ in _RUN_BY_OPTION)
    is_known = is_known or bool(name in _FETCHERS and _OF_PACKAGES.fullmatch(word.removesuffix(f"/{name}")))
    return name if is_known else word


def _runs_others(words: tuple[str, ...], options: Mapping[tuple[str, ...], str]) -> bool:
    """Whether what follows `words`, which begin a command, may be another command or code."""
    plain = _plain(words)
    if any(plain[: len(each)] == each for each in options) or (len(plain) == 1 and plain[0] in _OPEN):
        return True
    if any(plain == each[: len(plain)] for each in (*options, *_BEFORE_OTHERS)) and (
        len(plain) > 1 or len(words) == len(plain) == 1
    ):
        return True  # the rest of such a beginning may follow
    if "-m" in words and words[0].startswith("py"):
        return _runs_others(words[words.index("-m") + 1 :] or words[:1], options)
    before = max((len(each) for each in _BEFORE_OTHERS if _begins(plain, each)), default=0)
    if before and (not plain[before:] or _runs_others(plain[before:], options)):
        return True
    return ShellRule(run=words, positional="any").is_open_launcher


def _plain(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without options, their values and what else stands before a program."""
    valued = _VALUED.union(*(each.get(words[0], ()) for each in (VALUED, _VALUED_OF))) if words else _VALUED
    pairs = zip(words, ("", *words), strict=False)
    return tuple(word for word, last in pairs if not _NO_PROGRAM.fullmatch(word) and last not in valued)


def _begins(words: tuple[str, ...], beginning: tuple[str, ...]) -> bool:
    """Whether a command begins so, or may go on to do so."""
    fixed = len([word for word in beginning if not word.isupper()])
    return words[:fixed] == beginning[:fixed]


def besides(pattern: str, *, is_prefix: bool = False) -> tuple[Capability, ...]:
    """The capabilities of the matching commands beside the running of programs."""
    return talks(pattern, is_prefix=is_prefix) or saves(pattern, is_prefix=is_prefix)


def talks(pattern: str, *, is_prefix: bool = False) -> tuple[Capability, ...]:
    """The capabilities of a request, or of a command of `gh`, if the matching commands are such.

    What a pattern raises, each wider one does that names the program.
    """
    return requests(pattern, is_prefix=is_prefix) or _by_gh(pattern, is_prefix=is_prefix)


def saves(pattern: str, *, is_prefix: bool = False) -> tuple[Capability, ...]:
    """The capabilities of writing what the matching commands show into any file, if they do so by an option.

    What git shows may be any text, by `--format`: also settings by which the next command of git runs a program.
    """
    if not is_prefix and "*" not in pattern:
        return ()
    begun = itertools.takewhile(lambda word: "*" not in word, _REST.sub("", pattern).split())
    words = _plain(tuple(map(_name, begun)))
    return _OF_WRITING if any(words[: len(each)] == each for each in _SAVING) else ()


def _by_gh(pattern: str, *, is_prefix: bool) -> tuple[Capability, ...]:
    """The capabilities of the matching commands of GitHub's own program."""
    before, star, _ = pattern.partition("*")
    program, *words = _started(before)
    is_stem = bool(star) and not before.endswith((" ", ":"))
    raised = of_gh(words, is_open=is_prefix or bool(star), is_stem=is_stem) if program == GH else ()
    return tuple(map(Capability.parse, raised))


def requests(pattern: str, *, is_prefix: bool = False) -> tuple[Capability, ...]:
    """The capabilities of a request to any host, or of a page of any, if the matching commands send one."""
    before, star, _ = pattern.partition("*")
    is_open = is_prefix or bool(star)
    return _OF_FETCHERS if is_open and _VERSIONED.sub("", _started(before)[0]) in _FETCHERS else ()


def _started(beginning: str) -> tuple[str, ...]:
    """The words of a command from the program on that does the work: behind `sudo`, `npx` or `timeout 5`.

    An empty one if none is named.
    """
    words = _plain(tuple(map(_name, beginning.removesuffix(":").split())))
    while words and words[0] != GH and (before := _before_another(words)):
        words = words[before:]
    return words or ("",)


def _before_another(words: tuple[str, ...]) -> int:
    """The number of words before the command that these start; 0 if they start none."""
    known = (len(each) for each in (*_BEFORE_OTHERS, *BEFORE_PROGRAMS) if _begins(words, each))
    return max(known, default=int(words[0] in WRAPPERS))


def only_shows(pattern: str) -> bool:
    """Whether the matching commands of GitHub's own program send nothing: `gh api` and `gh pr` with any verb may."""
    program, *words = _plain(tuple(map(_name, _REST.sub("", pattern).split()))) or ("",)
    return (
        program == GH and len(words) > 1 and not written_by_gh(*words[:2]) and bool(shown_by_gh(*words[:2]))
    )


def listed_in(permissions: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The beginnings of commands that a client's settings allow, if they launch nothing else but by an option."""
    patterns = [
        match["pattern"]
        for text in permissions.get("allow", ())
        if (match := _RULE.fullmatch(text))
        and commands(match["pattern"], sees_options=True) == EXEC
        and not requests(match["pattern"])
    ]
    return tuple(sorted({tuple(_REST.sub("", each).split()) for each in patterns if _REST.search(each)}))
