"""Programs that shell rules treat specially: those that run other programs or code from their arguments."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WRAPPERS = frozenset({
    # programs that start another one
    "at", "batch", "bwrap", "chroot", "chrt", "command", "coproc", "cpulimit", "crontab", "daemon", "dbus-launch",
    "dbus-run-session", "doas", "env", "eval", "exec", "expect", "faketime", "fakeroot", "firejail", "flatpak",
    "flock", "gdb", "gdbserver", "ionice", "lldb", "ltrace", "nice", "nohup", "nsenter", "numactl", "parallel",
    "perf", "pkexec", "prlimit", "proot", "rlwrap", "run-parts", "runuser", "screen", "script", "setarch", "setpriv",
    "setsid", "snap", "socat", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "tclsh", "time", "timeout",
    "tini", "tmux", "torsocks", "trap", "unbuffer", "unshare", "valgrind", "watch", "watchexec", "xargs", "xvfb-run",
    "entr", "setcap", "capsh", "catchsegv", "dumb-init", "gosu", "start-stop-daemon", "uftrace",
    "ssh", "mosh", "npx", "uvx", "nix-shell", "xcrun",
})  # fmt: skip
"""They run the program that their arguments name, which may be another one of these."""

_SHELLS = frozenset({
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "powershell", "pwsh", "rbash",
    "sh", "tcsh", "toybox", "yash", "zsh",
})  # fmt: skip
_INTERPRETERS = frozenset({
    "awk", "bpython", "bun", "c++", "cc", "clang", "clang++", "clojure", "deno", "dotnet", "elixir", "erl", "g++",
    "gawk", "gcc", "ghc", "ghci", "guile", "ipython", "irb", "java", "javac", "jshell", "julia", "kotlin", "ld", "lua",
    "luajit", "mawk", "nawk", "node", "nodejs", "ocaml", "octave", "osascript", "perl", "php", "pry", "pypy", "pypy3",
    "python", "python2", "python3", "R", "racket", "Rscript", "ruby", "rustc", "sbcl", "scala", "scheme", "swift",
    "ts-node", "tsc", "tsx", "wish", "zig", "dc", "bc", "m4", "sqlite3", "psql", "mysql", "redis-cli", "mongosh",
})  # fmt: skip
"""Interpreters and compilers."""

RUNNERS = WRAPPERS | _SHELLS | _INTERPRETERS
"""They run whatever program or code their arguments name, with no file of the workspace."""

LAUNCHERS = RUNNERS | frozenset({
    # remote shells and transfers
    "aria2c", "curl", "ftp", "lftp", "nc", "ncat", "netcat", "rclone", "rsync", "scp", "sftp",
    "telnet", "wget",
    # containers and virtual machines
    "buildah", "crictl", "ctr", "docker", "docker-compose", "helm", "kubectl", "lxc", "nerdctl", "oc", "podman",
    "qemu-system-x86_64", "runc", "singularity", "apptainer", "vagrant",
    # package and build tools: their files are programs
    "ansible", "ansible-playbook", "ant", "apk", "apt", "apt-get", "bazel", "brew", "bundle", "cargo", "cmake",
    "composer", "conda", "dnf", "dpkg", "fastlane", "gem", "go", "gradle", "gradlew", "just", "make", "mamba",
    "meson", "mvn", "ninja", "nix", "npm", "nox", "pacman", "pip", "pip3", "pipx", "pnpm", "poetry", "rake",
    "rustup", "scons", "task", "terraform", "tox", "uv", "yarn", "yum", "zypper", "hatch", "pdm", "pixi",
    "pre-commit", "corepack",
    # test runners
    "jest", "mocha", "playwright", "py.test", "pytest", "rspec", "vitest",
    # editors and pagers, archivers, and others with commands in their arguments
    "sed", "gsed", "ssed", "tar", "gtar", "bsdtar", "cpio", "zip", "hg",
    "ed", "emacs", "emacsclient", "ex", "less", "man", "more", "most", "nano", "nvim", "pico", "red", "rview",
    "rvim", "vi", "view", "vim", "vimdiff", "code", "micro",
})  # fmt: skip
"""They run code from their arguments or from files of the workspace, so none of them only reads."""

TEST_RUNNERS = frozenset({"jest", "mocha", "py.test", "pytest", "rspec", "vitest"})
"""Launchers whose arguments are files of tests: which of them to run may be left to the model."""

_COMMANDS: dict[str, tuple[str, ...]] = {
    "bundle": ("exec",),
    "cargo": ("install", "run"),
    "conda": ("install", "run"),
    "docker": ("build", "exec", "run"),
    "gem": ("install",),
    "gh": ("alias", "alias set", "codespace", "codespace ssh", "extension", "extension install"),
    "git": (
        "bisect", "bisect run", "config", "difftool", "filter-branch", "hook", "hook run", "mergetool", "submodule",
        "submodule foreach",
    ),
    "go": ("generate", "get", "install", "run"),
    "kubectl": ("apply", "exec", "run"),
    "mamba": ("install", "run"),
    "nix": ("develop", "run", "shell"),
    "npm": ("exec", "explore", "i", "install", "run", "run-script", "x"),
    "pip": ("install",),
    "pip3": ("install",),
    "pipx": ("install", "run"),
    "pnpm": ("add", "dlx", "exec", "install", "run"),
    "podman": ("build", "exec", "run"),
    "poetry": ("add", "run"),
    "uv": (
        "add", "build", "export", "lock", "pip", "pip compile", "pip install", "pip sync", "remove", "run", "sync",
        "tool", "tool install", "tool run", "tool upgrade", "tree",
    ),
    "yarn": ("add", "dlx", "exec", "run"),
}  # fmt: skip
"""First words after which a program runs the program or code in the next ones."""

BEFORE_PROGRAMS = frozenset(
    (program, *words.split()) for program, several in _COMMANDS.items() for words in several
)
"""The beginnings of commands that these are."""
_ENDS_AT_VERSION = frozenset({"bash", "git", "make", "perl", "python", "python3"})
"""Programs that run nothing any more after `--version`, whatever follows.

Others take it back, as node does by `--no-version` and npm by `--version=false`; so it is with `--help`. After the
`--version` of gh the name of an alias or an extension may follow.
"""
_VERSION = "--version"

_OPERANDS: dict[tuple[str, ...], int] = {
    ("chroot",): 1, ("docker", "exec"): 1, ("docker", "run"): 1, ("flock",): 1, ("kubectl", "exec"): 1, ("mosh",): 1,
    ("podman", "exec"): 1, ("podman", "run"): 1, ("script",): 1, ("ssh",): 1, ("su",): 1, ("taskset",): 1,
}  # fmt: skip
"""The number of words between them and the program that they run."""

_OF_CLONE = ("--upload-pack", "--config", "--template", "-c", "-u")
_OF_FETCH = ("--upload-pack",)
_RUNS_SCRIPTS = (
    "add", "ci", "cit", "clean-install", "clean-install-test", "ic", "in", "install-ci-test", "install-clean",
    "install-test", "it", "link", "ln", "pack", "publish", "rb", "rebuild", "restart", "rum", "run", "run-script",
    "start", "stop", "t", "test", "tst", "up", "update", "upgrade", "urn", "version",
)  # fmt: skip
"""Commands of npm that run scripts of the project or of its packages."""
_OF_PUSH = ("--receive-pack", "--exec")
OPEN_BY_OPTION: dict[str, tuple[str, ...]] = {
    "ag": ("--pager",),
    "bat": ("--pager",),
    "fd": ("--exec", "--exec-batch", "-X", "-x"),
    "fdfind": ("--exec", "--exec-batch", "-X", "-x"),
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    "gh gist clone": _OF_CLONE,
    "gh repo clone": _OF_CLONE,
    "gh repo fork": _OF_CLONE,
    "git archive": ("--exec",),
    "git clone": _OF_CLONE,
    "git difftool": ("--extcmd", "-x"),
    "git fetch": _OF_FETCH,
    "git fetch-pack": _OF_FETCH,
    "git grep": ("--open-files-in-pager", "-O"),
    "git init": ("--template",),
    "git ls-remote": _OF_FETCH,
    "git pull": _OF_FETCH,
    "git push": _OF_PUSH,
    "git rebase": ("--exec", "-x"),
    "git send-pack": _OF_PUSH,
    **dict.fromkeys((f"npm {each}" for each in _RUNS_SCRIPTS), ("--node-options", "--script-shell")),
    "rg": ("--pre", "--hostname-bin"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
}  # fmt: skip
"""Beginnings of commands, each with the options whose value, or next words, are another program; the best known first.

What `gh` does not know it gives to `git clone`; `npm` gives each script of a project the options for its interpreter,
which may be code: `--node-options=--import=data:text/javascript,...`.
"""
_PROGRAM_OPTIONS: dict[str, tuple[str, ...]] = {
    **OPEN_BY_OPTION,
    "git": (
        "--config-env", "--exec", "--exec-path", "--ext-diff", "--receive-pack", "--textconv", "--upload-pack",
    ),
    "pytest": ("-c", "-o", "-p", "--config-file", "--override-ini"),
    "py.test": ("-c", "-o", "-p", "--config-file", "--override-ini"),
}  # fmt: skip
"""Options whose value, or next words, are a program or determine which one to run."""
_MOST_WORDS = max(len(each.split()) for each in _PROGRAM_OPTIONS)

_OF_CONTAINERS = (
    "--config", "--connection", "--context", "--host", "--log-level", "--tlscacert", "--tlscert", "--tlskey", "-H",
    "-l",
)  # fmt: skip
_OF_CLUSTERS = (
    "--as", "--cluster", "--context", "--kubeconfig", "--namespace", "--server", "--token", "--user", "-n", "-s",
)  # fmt: skip
_OF_UV = (
    "--allow-insecure-host", "--build-constraints", "--cache-dir", "--color", "--config-file", "--config-setting",
    "--config-settings-package", "--constraints", "--default-index", "--directory", "--env-file", "--exclude-newer",
    "--exclude-newer-package", "--excludes", "--extra", "--extra-index-url", "--find-links", "--fork-strategy",
    "--from", "--group", "--index", "--index-strategy", "--index-url", "--keyring-provider", "--link-mode",
    "--no-binary-package", "--no-build-isolation-package", "--no-build-package", "--no-extra", "--no-group",
    "--no-install-package", "--no-sources-package", "--only-group", "--overrides", "--package", "--prerelease",
    "--preview-features", "--project", "--python", "--python-platform", "--python-preference", "--refresh-package",
    "--reinstall-package", "--resolution", "--torch-backend", "--trusted-host", "--upgrade-group", "--upgrade-package",
    "--with", "--with-editable", "--with-requirements", "-C", "-P", "-b", "-c", "-f", "-i", "-p", "-w",
)  # fmt: skip
VALUED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), ("-F", "-v")),
    "bun": ("--cwd", "--env-file", "--filter", "-F"),
    "bundle": ("--gemfile",),
    "cargo": ("--color", "--config", "--manifest-path", "--package", "--target-dir", "-C", "-Z", "-p"),
    "composer": ("--working-dir", "-d"),
    "conda": ("--name", "--prefix", "-n", "-p"),
    "docker": _OF_CONTAINERS,
    "docker-compose": ("--env-file", "--file", "--profile", "--project-directory", "--project-name", "-f", "-p"),
    "gh": ("--hostname", "--repo", "-R"),
    "git": ("-C", "-c", "--git-dir", "--work-tree", "--namespace"),
    "go": ("-C",),
    **dict.fromkeys(("gradle", "gradlew"), ("--build-file", "--project-dir", "--settings-file", "-b", "-c", "-p")),
    "helm": ("--kube-context", "--kubeconfig", "--namespace", "-n"),
    "just": ("--justfile", "--working-directory", "-d", "-f"),
    "kubectl": _OF_CLUSTERS,
    "make": ("-C", "-I", "-W", "-f", "-j", "-l", "-o", "--directory", "--file", "--makefile"),
    "mamba": ("--name", "--prefix", "-n", "-p"),
    "npm": ("--prefix", "--workspace", "-C", "-w"),
    "npx": ("--package", "--prefix", "--workspace"),
    "oc": _OF_CLUSTERS,
    "perl": ("-I",),
    "pip": ("--proxy", "--python"),
    "pip3": ("--proxy", "--python"),
    "pnpm": ("--dir", "--filter", "--filter-prod", "--prefix", "-C", "-F"),
    "podman": _OF_CONTAINERS,
    "poetry": ("--directory", "--project", "-C", "-P"),
    "pypy3": ("-W", "-X"),
    "python": ("-W", "-X"),
    "python3": ("-W", "-X"),
    "rake": ("--directory", "--rakefile", "-C", "-f"),
    "ruby": ("-I", "-r"),
    "sed": ("-l",),
    "tar": ("-C",),
    "uv": _OF_UV,
    "uvx": _OF_UV,
    "yarn": ("--cwd",),
}  # fmt: skip
"""Options whose value is the next word, which does not affect the program to run."""

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?")

NUMBER_OPTIONS = {"git": "-n=", "grep": "-C=", "head": "-n=", "tail": "-n="}
"""The option that `-5` is short for."""

ENDS_OPTIONS = frozenset({
    "cat", "chmod", "chown", "cmp", "cp", "cut", "diff", "du", "head", "ln", "ls", "mkdir", "mv", "nl", "od",
    "rm", "rmdir", "sort", "stat", "tac", "tail", "touch", "wc",
})  # fmt: skip
"""Programs to which every word after `--` is a path, also one that begins with a dash."""

SHOWS_NAMES = frozenset({"du", "find", "ls", "stat", "tree"})
"""Programs that list the files of a folder without their content."""

NEEDS_ISOLATION = frozenset({"git"})
"""Programs that only read if they are isolated: a repository's own filters run even on `git status`."""

_VERSIONED = ("bash", "clang", "gcc", "lua", "perl", "php", "pip", "pypy", "python", "ruby", "node")


def is_launcher(program: str) -> bool:
    """Whether `program` runs other programs or code; `python3.12` and `gcc-13` do as `python` does."""
    if program in LAUNCHERS:
        return True
    stem = program.rstrip("0123456789.-")
    return stem != program and stem in _VERSIONED


def leaves_program_open(words: Sequence[str], *, are_paths: bool) -> bool:
    """Whether arguments after `words`, which begin a command, would determine the program or code to run.

    `timeout 5` and `timeout 5 python` leave it open, `timeout 5 python a.py` does not; `git bisect` does, `git log`
    does not; `pytest` does unless the arguments `are_paths`. `git --version` does not.
    """
    if words[0] in _ENDS_AT_VERSION and tuple(words[1:2]) == (_VERSION,):
        return False
    rest = tuple(_named(words))
    if words[-1].startswith("-") and runs_programs(words[:-1], words[-1:]):
        return True
    while rest:
        command = _command_of(rest)
        if len(command) == 1 and command[0] not in WRAPPERS:
            is_closed = are_paths and command[0] in TEST_RUNNERS
            return len(rest) == 1 and not is_closed and (is_launcher(command[0]) or command[0] in _COMMANDS)
        rest = rest[len(command) + _OPERANDS.get(command, 0) :]
    return True


def _command_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The program that begins `words`, with the longest of its commands that follows."""
    known = [tuple(command.split()) for command in _COMMANDS.get(words[0], ())]
    most = max((len(command) for command in known if words[1 : len(command) + 1] == command), default=0)
    return words[: most + 1]


def runs_programs(words: Sequence[str], flags: Iterable[str]) -> bool:
    """Whether one of these options of `words` determines the program to run, also if abbreviated (`--exec-b`)."""
    known = _program_options(words)
    return any(_is_one(flag.rstrip("="), known) for flag in flags)


def _is_one(name: str, known: Sequence[str]) -> bool:
    """Whether an option is one of those that are known, also if abbreviated."""
    is_long = name.startswith("--") and len(name) > len("--")
    return name in known or (is_long and any(option.startswith(name) for option in known))


def may_name_program(command: Sequence[str]) -> bool:
    """Whether an option in a whole command may be one that determines the program to run.

    Letters that stand together each count as an option, also where they are the value of the first. The words of a
    beginning may stand anywhere, in their order: others start the program, or are values of options.
    """
    words = [word.rpartition("/")[2] for word in command]
    known = [
        option for each, options in _PROGRAM_OPTIONS.items() if _is_among(each, words) for option in options
    ]
    letters = {option[1] for option in known if len(option) == len("-x")}
    for word in command[1:]:
        name = word.partition("=")[0]
        is_short = name[:1] == "-" and name[:2] != "--"
        if _is_one(name, known) or (is_short and not letters.isdisjoint(name[1:])):
            return True
    return False


def _is_among(beginning: str, words: Sequence[str]) -> bool:
    """Whether the words of a beginning are among others, in their order."""
    rest = iter(words)
    return all(word in rest for word in beginning.split())


def _program_options(words: Sequence[str]) -> tuple[str, ...]:
    """The options that determine the program to run, of a command that begins with these words."""
    beginnings = (" ".join(words[:length]) for length in range(1, _MOST_WORDS + 1))
    return tuple(option for each in dict.fromkeys(beginnings) for option in _PROGRAM_OPTIONS.get(each, ()))


def _named(words: Sequence[str]) -> Iterator[str]:
    """The words that are neither options nor their values, nor numbers or variables before a program.

    A number is left in where one of `_OPERANDS` belongs, such as the mask of `taskset`.
    """
    rest = iter(words)
    wrapped = True
    program = ""
    before: tuple[str, ...] = ()
    for word in rest:
        if not word.startswith("-"):
            is_operand = not _OPERANDS.keys().isdisjoint((before[-1:], before))
            if program and not is_operand and (_NUMBER.fullmatch(word) or (wrapped and "=" in word)):
                continue
            if program == "cargo" and word.startswith("+"):  # a toolchain
                continue
            program = program or word
            wrapped = wrapped and word in WRAPPERS
            before = (*before[-1:], word)
            yield word
        elif word in VALUED.get(program, ()) or (wrapped and program and len(word) == len("-n")):
            next(rest, None)


_STEERING = frozenset({
    "PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH",
    "EDITOR", "VISUAL", "BROWSER", "TMPDIR", "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH",
    "HOSTALIASES", "RESOLV_HOST_CONF", "MAKEFLAGS", "LESSOPEN", "LESSCLOSE", "RIPGREP_CONFIG_PATH", "XDG_CONFIG_HOME",
})  # fmt: skip
_STEERING_BEGINNINGS = ("LD_", "DYLD_", "PYTHON", "PERL5", "GIT_", "MALLOC_", "NPM_CONFIG_")
_STEERING_ENDINGS = ("_PRELOAD", "PAGER")


def steers_programs(variable: str) -> bool:
    """Whether an environment variable affects the code that a program loads or starts: it is never passed on."""
    name = variable.upper()
    return name in _STEERING or name.startswith(_STEERING_BEGINNINGS) or name.endswith(_STEERING_ENDINGS)
