"""Files whose content is executed, and names of files that mostly hold secrets: both have capabilities of their own.

A write, a deletion or a renaming of the first raises `fs.write.protected` as well, of the second `fs.write.code`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from llmdo.base.values import dataclass
from llmdo.policy.authority import Capability

TYPE_CHECKING = False  # `typing` alone would cost a quarter of what `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.syntax.globs import Glob

PROTECTED_READ = "fs.read.protected"

SECRET_FILES: tuple[str, ...] = (
    ".env*", "*.env", "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml",
    ".git", ".git-credentials", ".hg", ".svn",
    ".llmdo",
    ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem", ".htpasswd", ".pgpass", ".my.cnf",
    ".ssh", "id_*", "*.pem", "*.key", "*.ppk", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    ".gnupg", ".password-store",
    ".aws", ".azure", ".kube", ".gcloud", ".config/gcloud", ".config/gh", ".docker/config.json", ".dockercfg",
    ".boto", ".s3cfg", ".vault-token", ".terraform.d", "*.tfstate", "*.tfstate.backup",
    "credentials", "*credentials.json", "credentials.toml", "client_secret*.json", "service-account*.json",
)  # fmt: skip
"""Patterns of files that may not be read unasked; files in a folder of such a name count."""


def folded(path: str) -> tuple[str, ...]:
    """The parts of `path`, as the least strict file system compares them.

    Without case, composition, invisible characters, and the dots and blanks that Windows drops from the end of a name.
    """
    visible = "".join(character for character in path if unicodedata.category(character) != "Cf")
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", visible).casefold())
    return tuple(name.rstrip(". ") for name in plain.split("/") if name not in ("", "."))


class NamePatterns:
    """Patterns of names, in which `*` is any part of one, and of paths, in which `/` stands between names.

    Not as one regular expression: to compile it takes longer than all else that a single call needs.
    """

    __slots__ = ("_ends", "_firsts", "_inner", "_lasts", "_names", "_others", "_paths", "_starts")

    def __init__(self, patterns: Iterable[str]) -> None:
        split = {pattern: pattern.split("*") for pattern in patterns}
        self._names = frozenset(
            [each for each, pieces in split.items() if len(pieces) == 1 and "/" not in each]
        )
        self._paths = tuple(
            [f"/{each}/" for each, pieces in split.items() if len(pieces) == 1 and "/" in each]
        )
        pairs = [pieces for pieces in split.values() if len(pieces) == 2]
        self._starts = tuple([start for start, end in pairs if not end])
        self._ends = tuple([end for start, end in pairs if not start])
        self._others = [
            pieces for pieces in split.values() if len(pieces) > 1 and (len(pieces) > 2 or all(pieces))
        ]
        # Most names are none of these, which one look at their beginning and end tells.
        self._firsts = tuple([pieces[0] for pieces in self._others if pieces[0]])
        self._lasts = tuple([pieces[-1] for pieces in self._others if pieces[-1] and not pieces[0]])
        self._inner = tuple([pieces[1] for pieces in self._others if not pieces[0] and not pieces[-1]])

    def match(self, parts: tuple[str, ...]) -> bool:
        """Whether one of the parts of a folded path has such a name, or several have such a path."""
        if not self._names.isdisjoint(parts):
            return True
        for name in parts:
            if name.startswith(self._starts) or name.endswith(self._ends):
                return True
            may_fit = name.startswith(self._firsts) or name.endswith(self._lasts)
            for piece in self._inner:
                may_fit |= piece in name
            if may_fit and any(_fits(name, pieces) for pieces in self._others):
                return True
        path = f"/{'/'.join(parts)}/" if len(parts) > 1 else ""
        return bool(path) and any(each in path for each in self._paths)


def _fits(name: str, pieces: Sequence[str]) -> bool:
    """Whether a name consists of the pieces of a pattern, in their order, with anything between them."""
    first, *middle, last = pieces
    at, end = len(first), len(name) - len(last)
    if end < at or not (name.startswith(first) and name.endswith(last)):
        return False
    for piece in middle:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


_SECRET = NamePatterns(SECRET_FILES)


def is_secret(path: str) -> bool:
    """Whether `path`, or a folder on it, has one of these names."""
    return _SECRET.match(folded(path))


def may_hold_secrets(scope: str) -> bool:
    """Whether something in `scope`, a path or `folder/**`, may have one of these names."""
    return scope.endswith("**") or is_secret(scope)


def protected(path: str, scope: str | None = None) -> frozenset[Capability]:
    """The additional capabilities of reading `path`; with `scope` if it means more than itself."""
    return frozenset({Capability(PROTECTED_READ, scope or path)} if is_secret(path) else ())


def protected_within(scope: str) -> frozenset[Capability]:
    """The additional capabilities that reads within `scope` may raise."""
    return frozenset({Capability(PROTECTED_READ, scope)} if may_hold_secrets(scope) else ())


PROTECTED_WRITE = "fs.write.protected"
CODE_WRITE = "fs.write.code"
CHANGES = frozenset({"fs.write", "fs.delete"})
"""The capabilities of tools by which a file may come to be, change or vanish."""

PROTECTED_FILES = (
    "llmdo.toml", "llmdo.lock", ".llmdo", "team.yaml", "team.md", "*.worker", "*.worker.md", ".git",
    ".gitattributes", ".gitmodules",
    ".husky", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".hg", ".github", ".gitlab-ci.yml", ".circleci",
    ".buildkite", ".drone.yml", ".forgejo", ".gitea", ".travis.yml", ".woodpecker", ".woodpecker.yml",
    ".woodpecker.yaml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile", "buildspec.yml",
    "appveyor.yml", ".appveyor.yml", ".semaphore", ".readthedocs.yaml", ".gitpod.yml", ".vscode", ".idea",
    ".devcontainer", ".devcontainer.json", ".zed", ".fleet", "*.code-workspace", ".codesandbox", ".helix", ".replit",
    ".run", ".theia", ".agent", ".claude", ".claude-plugin", ".codex", ".codex-plugin", ".continue", ".cursor",
    ".cursor-plugin", ".fast-agent", ".gemini", ".kilocode", ".kiro", ".opencode", ".qwen", ".windsurf", ".mcp.json",
    ".env", ".env.*", ".envrc", "*.env",
    ".mise", "mise", ".mise.toml", ".mise.*.toml", "mise.toml", "mise.*.toml", "conftest.py", "sitecustomize.py",
    "usercustomize.py",
)  # fmt: skip
"""Names that govern runs of llmdo, CI, git, editors and other agents; a file in such a folder counts too."""

CODE_FILES = (
    # read by interpreters
    "*.py", "*.pyw", "*.pyx", "*.pyi", "*.ipynb", "*.sh", "*.bash", "*.zsh", "*.fish", "*.ksh", "*.csh", "*.bat",
    "*.cmd", "*.ps1", "*.psm1", "*.psd1", "*.vbs", "*.js", "*.mjs", "*.cjs", "*.jsx", "*.ts", "*.mts", "*.cts",
    "*.tsx", "*.vue", "*.svelte", "*.astro", "*.coffee", "*.rb", "*.pl", "*.pm", "*.php", "*.phtml", "*.phar",
    "*.lua", "*.r", "*.jl", "*.ex", "*.exs", "*.erl", "*.clj", "*.cljs", "*.groovy", "*.kts", "*.awk", "*.tcl",
    "*.el", "*.lisp", "*.scm", "*.edn", "*.csx", "*.fsx", "*.pyz", "*.xsh", "rebar.config", "*.vim", "*.nix",
    "*.applescript", "*.command", "*.desktop", "*.service", "*.timer",
    # compiled, then executed
    "*.c", "*.cc", "*.cpp", "*.cxx", "*.h", "*.hpp", "*.cs", "*.fs", "*.go", "*.rs", "*.java", "*.kt", "*.scala",
    "*.swift", "*.m", "*.mm", "*.zig", "*.nim", "*.dart", "*.hs", "*.ml", "*.s", "*.asm", "*.exe", "*.dll", "*.dylib",
    "*.so", "*.so.*", "*.o", "*.a", "*.pyc", "*.pyd", "*.jar", "*.war", "*.class", "*.wasm", "*.node", "*.whl",
    "*.egg", "*.gem", "*.deb", "*.rpm", "*.appimage",
    # of build tools and task runners
    "makefile", "makefile.*", "gnumakefile", "*.mk", "cmakelists.txt", "*.cmake", "cmakepresets.json", "dockerfile",
    "dockerfile.*", "*.dockerfile", "containerfile", "containerfile.*", "docker-compose.y*ml",
    "docker-compose.*.y*ml", "compose.y*ml", "compose.*.y*ml", "build.ninja", "*.ninja", "build.xml", "*.sbt",
    "dvc.yaml", "*.hcl", "*.nf", "ansible.cfg", "cdk.json", "nodemon.json", "wrangler.toml", "firebase.json",
    ".goreleaser.y*ml", ".air.toml", "latexmkrc", ".latexmkrc", "doxyfile", "book.toml", "_quarto.yml", "mkdocs.yml",
    ".bazelrc", "supervisord.conf", ".config", "config.ru", ".htaccess", "*.jsp", "*.asp", "*.aspx", "*.cgi",
    "*.fcgi", "vagrantfile", "justfile", ".justfile", "*.just", "taskfile*.y*ml", "rakefile", "*.rake", "gemfile*",
    "*.gemspec", "podfile", "fastfile", "brewfile", "procfile*", "tiltfile", "earthfile", "snakefile", "*.smk",
    "sconstruct", "sconscript", "wscript", "meson.build", "build.bazel", "workspace.bazel", "module.bazel", "*.bzl",
    "*.tf", "*.gradle", "gradle.properties", "gradlew", "gradle-wrapper.properties", "mvnw", ".mvn", "pom.xml",
    "*.*proj", "*.sln", "nuget.config", "*.pbxproj", "*.xcscheme", "*.props", "*.targets", "crontab", "lefthook.y*ml",
    ".lefthook.y*ml", ".lintstagedrc*", ".pre-commit-hooks.yaml", "turbo.json", "nx.json",
    # of package managers and of the tools that they start
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml",
    "bun.lock*", "bunfig.toml", "deno.json*", "deno.lock", ".npmrc", ".yarnrc*", ".pnp.*", "tsconfig*.json",
    "jsconfig.json", ".babelrc*", "babel.config.json", ".prettierrc*", ".stylelintrc*", ".eslintrc*", ".swcrc",
    ".mocharc*", "pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", ".coveragerc",
    "mypy.ini", ".mypy.ini", ".pylintrc", "pylintrc", ".flake8", "ruff.toml", ".ruff.toml", "alembic.ini",
    "hatch.toml", "poetry.toml", ".pdm-python", "pylock*.toml", ".pdbrc", "requirements", "requirements*.txt",
    "requirements*.in", "*requirements.txt", "constraints*.txt", "pipfile", "pipfile.*", "poetry.lock", "pdm.lock",
    "uv.lock", "uv.toml", "pip.conf", "pip.ini", ".condarc", "environment.y*ml", "pixi.toml", "pixi.lock",
    "cargo.toml", "cargo.lock", ".cargo", "rust-toolchain*", "go.mod", "go.sum", "go.work", "composer.json",
    "composer.lock", "mix.lock", ".tool-versions", ".python-version", ".nvmrc", ".node-version", ".ruby-version",
    "devbox.json", ".direnv",
    # environments
    ".venv", "venv", "pyvenv.cfg", "site-packages", "dist-packages", "__pypackages__", "__pycache__", ".tox", ".nox",
    "node_modules", ".yarn", ".bundle",
    # of shells and editors
    ".bashrc", ".bash_*", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".vimrc", ".exrc",
    ".nvim.lua", ".gdbinit", ".lldbinit", ".tmux.conf", ".irbrc", ".pryrc", ".rspec", ".rvmrc", ".rprofile",
    ".renviron", "activate", "activate.*", "*.sublime-project",
    # instructions and settings of other agents
    "claude.md", "claude.*.md", "agents.md", "agents.*.md", "agent.md", "gemini.md", "qwen.md", "skill.md",
    "codex.md", "copilot-instructions.md", "*.agent.md", "*.prompt.md", "*.instructions.md", "*.chatmode.md",
    ".cursorrules", ".windsurfrules", ".clinerules*", ".roorules*", ".roo", ".roomodes", ".goosehints", ".aider*",
    ".agents", ".amazonq", ".crush*", ".junie", "mcp.json", "crush.json", ".rules", "mcp_agent.config.yaml",
    "mcp_agent.secrets.yaml", "fastmcp.json", "opencode.json*", "fast-agent.yaml", "fastagent.config.yaml",
    "fastagent.secrets.yaml", "agent-cards", "agent_cards", "tool-cards", "tool_cards", "*.agent", "*.mcp.json",
    "gemini-extension.json", "claude_desktop_config.json", "hooks.json",
)  # fmt: skip
"""Names of files that an interpreter, compiler, package manager, editor or other agent executes or obeys."""

_LAST = frozenset({"build", "workspace", "dune", "head"})
"""Names that count for files alone, not for folders: of Bazel and Dune, and the mark of a repository for git."""

_PROTECTED = NamePatterns(PROTECTED_FILES)
_CODE = NamePatterns(CODE_FILES)
_PERSONAL = ("llmdo", "policy.toml")  # where the workspace is a home folder
_COMPILED = (".pyc", ".so", ".pyd")  # modules that Python may take instead of the source of the same name
_EVERYWHERE = "**"
_WILDCARDS = frozenset("*?[")


def is_protected(path: str, governing: Iterable[str] = ()) -> bool:
    """Whether a part of `path` has a name that governs runs, or it is one of `governing` or lies below one.

    `governing` are paths and globs. Names are compared as the least strict file system compares them.
    """
    parts = folded(path)
    if _PROTECTED.match(parts) or parts[-2:] == _PERSONAL:
        return True
    named = _named(frozenset(governing))
    of_source = _of_source(parts)
    return (
        of_source in named.paths
        or any(parts[:length] in named.paths for length in range(1, len(parts) + 1))
        or any(glob.matches("/".join(each)) for glob in named.globs for each in {parts, of_source})
    )


def holds_protected(scope: str, governing: Iterable[str] = ()) -> bool:
    """Whether a write within `scope`, a path or `folder/**`, may change a file that governs the run."""
    if scope == _EVERYWHERE:
        return True
    path = scope.removesuffix("/**")
    if is_protected(path, governing):
        return True
    parts, named = folded(path), _named(frozenset(governing))
    if scope == path:
        return False
    return any(below[: len(parts)] == parts for below in named.paths) or any(
        _may_match_below(glob, parts) for glob in named.globs
    )


def is_code(path: str) -> bool:
    """Whether a part of `path` has the name of an executed file."""
    parts = folded(path)
    return _CODE.match(parts) or parts[-1:] in {(name,) for name in _LAST}


def raised_by_change(
    scope: str, governing: Iterable[str], *, is_executed: bool = False
) -> Iterator[Capability]:
    """The additional capabilities of a write, a deletion or a renaming within `scope`.

    `fs.write.protected` if that may be a file that governs the run, else `fs.write.code` if it may be code; a folder
    may hold both. `is_executed` says that the file is code whatever its name is.
    """
    governs = holds_protected(scope, governing)
    if governs:
        yield Capability(PROTECTED_WRITE, scope)
    if scope.endswith(_EVERYWHERE) or (not governs and (is_executed or is_code(scope))):
        yield Capability(CODE_WRITE, scope)


def declared_by_change(scope: str | None, *, may_be_folder: bool = False) -> tuple[Capability, ...]:
    """All that `raised_by_change` may yield within `scope`: a name does not show the content of an inventory.

    `may_be_folder` says that a path may be that of a folder, with all in it.
    """
    scopes = (
        {scope, f"{scope}/**"} if may_be_folder and scope and not scope.endswith(_EVERYWHERE) else {scope}
    )
    return tuple(Capability(name, each) for name in (CODE_WRITE, PROTECTED_WRITE) for each in scopes)


def is_change(capability: Capability) -> bool:
    """Whether a call that raises it may change or delete files of a kind that the capability does not tell.

    So not `fs.write.code` and `fs.write.protected`.
    """
    return _may_change(capability.name)


@lru_cache(maxsize=256)  # asked of every capability that a call raises
def _may_change(name: str) -> bool:
    if name in (CODE_WRITE, PROTECTED_WRITE):
        return False
    raised = Capability(name)
    return any(raised.covers_name(each) or Capability(each).covers_name(name) for each in CHANGES)


@dataclass(frozen=True, slots=True)
class _Governing:
    """The paths and globs that govern a run, as paths are compared."""

    paths: frozenset[tuple[str, ...]]
    globs: tuple[Glob, ...]


@lru_cache(maxsize=64)  # a run asks about thousands of paths, and what governs it stays the same
def _named(governing: frozenset[str]) -> _Governing:
    patterns = {text for text in governing if not _WILDCARDS.isdisjoint(text)}
    paths = frozenset(folded(text) for text in governing - patterns)
    if not patterns:
        return _Governing(paths - {()}, ())
    from llmdo.syntax.globs import Glob  # which takes longer than all else that a single call needs

    return _Governing(paths - {()}, tuple(map(Glob, sorted("/".join(folded(text)) for text in patterns))))


def _may_match_below(glob: Glob, folder: tuple[str, ...]) -> bool:
    """Whether a path in `folder` may be one that `glob` names."""
    start = tuple(glob.start.split("/")) if glob.start else ()
    shared = min(len(start), len(folder))
    if start[:shared] != folder[:shared]:
        return False
    return glob.levels is None or glob.levels > len(folder)


def _of_source(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The path of a compiled module's source; `parts` itself if it is none."""
    if not parts or not parts[-1].endswith(_COMPILED):
        return parts
    folder = parts[:-2] if parts[-2:-1] == ("__pycache__",) else parts[:-1]
    return (*folder, f"{parts[-1].partition('.')[0]}.py")
