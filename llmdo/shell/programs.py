"""Programs that a shell rule cannot treat like others: those that run other programs or code that they are given."""

from __future__ import annotations

LAUNCHERS = frozenset({
    # shells
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "powershell", "pwsh", "rbash",
    "sh", "tcsh", "toybox", "yash", "zsh",
    # programs that start another one
    "at", "batch", "bwrap", "chroot", "chrt", "command", "coproc", "cpulimit", "crontab", "daemon", "dbus-launch",
    "dbus-run-session", "doas", "env", "eval", "exec", "expect", "faketime", "fakeroot", "firejail", "flatpak",
    "flock", "gdb", "gdbserver", "ionice", "lldb", "ltrace", "nice", "nohup", "nsenter", "numactl", "parallel",
    "perf", "pkexec", "prlimit", "proot", "rlwrap", "run-parts", "runuser", "screen", "script", "setarch", "setpriv",
    "setsid", "snap", "socat", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "tclsh", "time", "timeout",
    "tini", "tmux", "torsocks", "trap", "unbuffer", "unshare", "valgrind", "watch", "watchexec", "xargs", "xvfb-run",
    "entr", "setcap", "capsh", "catchsegv", "dumb-init", "gosu", "start-stop-daemon", "uftrace",
    # remote shells and transfers
    "aria2c", "curl", "ftp", "lftp", "mosh", "nc", "ncat", "netcat", "rclone", "rsync", "scp", "sftp", "ssh",
    "telnet", "wget",
    # containers and virtual machines
    "buildah", "crictl", "ctr", "docker", "docker-compose", "helm", "kubectl", "lxc", "nerdctl", "oc", "podman",
    "qemu-system-x86_64", "runc", "singularity", "apptainer", "vagrant",
    # package and build tools: their files are programs
    "ansible", "ansible-playbook", "ant", "apk", "apt", "apt-get", "bazel", "brew", "bundle", "cargo", "cmake",
    "composer", "conda", "dnf", "dpkg", "gem", "go", "gradle", "gradlew", "just", "make", "mamba", "meson", "mvn",
    "ninja", "nix", "nix-shell", "npm", "npx", "nox", "pacman", "pip", "pip3", "pipx", "pnpm", "poetry", "rake",
    "rustup", "scons", "task", "terraform", "tox", "uv", "uvx", "yarn", "yum", "zypper", "hatch", "pdm", "pixi",
    "pre-commit", "corepack",
    # test runners
    "jest", "mocha", "playwright", "py.test", "pytest", "rspec", "vitest",
    # interpreters and compilers
    "awk", "bpython", "bun", "c++", "cc", "clang", "clang++", "clojure", "deno", "dotnet", "elixir", "erl", "g++",
    "gawk", "gcc", "ghc", "ghci", "guile", "ipython", "irb", "java", "javac", "jshell", "julia", "kotlin", "ld", "lua",
    "luajit", "mawk", "nawk", "node", "nodejs", "ocaml", "octave", "osascript", "perl", "php", "pry", "pypy", "pypy3",
    "python", "python2", "python3", "R", "racket", "Rscript", "ruby", "rustc", "sbcl", "scala", "scheme", "swift",
    "ts-node", "tsc", "tsx", "wish", "zig", "dc", "bc", "m4", "sqlite3", "psql", "mysql", "redis-cli", "mongosh",
    # editors and pagers
    "ed", "emacs", "emacsclient", "ex", "less", "man", "more", "most", "nano", "nvim", "pico", "red", "rview",
    "rvim", "vi", "view", "vim", "vimdiff", "code", "micro",
})  # fmt: skip
"""They run whatever their arguments or the files of the workspace say, so none of them only reads."""

NEEDS_ISOLATION = frozenset({"git"})
"""Programs that only read where they are isolated: a repository's own filters run even on `git status`."""

_VERSIONED = ("bash", "clang", "gcc", "lua", "perl", "php", "pip", "pypy", "python", "ruby", "node")


def is_launcher(program: str) -> bool:
    """Whether `program` runs other programs or code; `python3.12` and `gcc-13` do as `python` does."""
    if program in LAUNCHERS:
        return True
    stem = program.rstrip("0123456789.-")
    return stem != program and stem in _VERSIONED


_STEERING = frozenset({
    "PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH",
    "EDITOR", "VISUAL", "BROWSER", "TMPDIR", "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH",
    "HOSTALIASES", "RESOLV_HOST_CONF", "MAKEFLAGS", "LESSOPEN", "LESSCLOSE", "RIPGREP_CONFIG_PATH", "XDG_CONFIG_HOME",
})  # fmt: skip
_STEERING_BEGINNINGS = ("LD_", "DYLD_", "PYTHON", "PERL5", "GIT_", "MALLOC_")
_STEERING_ENDINGS = ("_PRELOAD", "PAGER")


def steers_programs(variable: str) -> bool:
    """Whether an environment variable decides what a program loads or starts: such a one is never handed on."""
    name = variable.upper()
    return name in _STEERING or name.startswith(_STEERING_BEGINNINGS) or name.endswith(_STEERING_ENDINGS)
