"""The presets of shell rules, as data of the form that `[toolsets.shell] rules` has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Table = Mapping[str, object]


def _reading(
    run: str, flags: str = "", *, match: Sequence[str], not_match: Sequence[str], **more: object
) -> Table:
    """A rule that vouches for `run` as only reading; its parts are written as text, split at blanks."""
    return {
        "run": run.split(),
        "flags": flags.split(),
        "positional": "paths",
        "capability": "proc.exec.read",
        "match": [line.split() for line in match],
        "not-match": [line.split() for line in not_match],
        **more,
    }


_MATCHING = (
    "-i -v -w -x -c -l -L -o -h -H -s -n -E -F -P -in -ni -nE -nF -nw -inE -e= -A= -B= -C= -m= --ignore-case "
    "--invert-match --word-regexp --line-regexp --count --files-with-matches --only-matching --line-number "
    "--extended-regexp --fixed-strings --regexp= --max-count= --context= --color=never"
)
_RECURSIVE = ("-r", "-rn", "-ri", "-rin", "-rl")

_READ_ONLY = (
    _reading(
        "cat",
        "-n -b -s -A -E --number",
        match=["cat README.md", "cat -n src/a.py src/b.py"],
        not_match=["cat /etc/passwd", "cat ../secret", "cat ~/.ssh/id_rsa"],
    ),
    _reading(
        "head",
        "-n= -c= -q -v",
        match=["head README.md", "head -n 5 README.md", "head -n5 a b"],
        not_match=["head -n 5 /proc/self/environ", "head --lines=5 a"],
    ),
    _reading(
        "tail",
        "-n= -c= -q -v",
        match=["tail -n +10 README.md"],
        not_match=["tail -f log", "tail +5 log", "tail --pid=1 log"],
    ),
    _reading("nl", "-b= -w=", match=["nl -b a src/a.py"], not_match=["nl /etc/passwd"]),
    _reading("tac", match=["tac log"], not_match=["tac /etc/passwd"]),
    _reading(
        "wc",
        "-l -w -c -m -L",
        match=["wc -l src/a.py"],
        not_match=["wc --files0-from=list", "wc -l /etc/passwd"],
    ),
    _reading(
        "ls",
        "-l -a -A -h -R -1 -t -S -r -d -F -p -la -al -lh -lah -lA -lt -ltr -laR -lR --all --recursive",
        match=["ls", "ls -la src"],
        not_match=["ls /", "ls -L link", "ls .."],
    ),
    _reading("stat", "-c= -t", match=["stat -c %s a.py"], not_match=["stat -L a", "stat /etc/shadow"]),
    _reading(
        "file",
        "-b -i --brief --mime-type",
        match=["file -b a.png"],
        not_match=["file -f list", "file -C -m x"],
    ),
    _reading(
        "du",
        "-s -h -a -sh -d= --summarize --max-depth=",
        match=["du -sh src"],
        not_match=["du -L src", "du --files0-from=list"],
    ),
    _reading(
        "tree", "-a -d -L= -I= --noreport", match=["tree -L 2 src"], not_match=["tree -o out", "tree -l src"]
    ),
    _reading(
        "grep",
        _MATCHING,
        match=["grep -n TODO src/a.py", "grep -e /api/v1 src/a.py"],
        not_match=["grep -f /etc/passwd a", "grep -r TODO", "grep TODO /etc/passwd", "grep --file=x a"],
    ),
    *(
        _reading(
            f"grep {recursive}",
            f"{_MATCHING} --include= --exclude= --exclude-dir=",
            reads="workspace",
            match=[f"grep {recursive} TODO src", f"grep {recursive} -e TODO --include=*.py"],
            not_match=[f"grep {recursive} TODO /etc", f"grep {recursive} -f list src", "grep -R TODO src"],
        )
        for recursive in _RECURSIVE
    ),
    _reading(
        "rg",
        "-n -i -w -l -c -F -o -s -S -x -v -U -e= -g= -t= -T= -A= -B= -C= -m= --files --hidden --glob= --type= "
        "--count --ignore-case --fixed-strings --files-with-matches --line-number --no-heading --sort=path",
        reads="workspace",
        match=["rg -n TODO src", "rg -g *.py -e TODO"],
        not_match=[
            "rg --pre=x TODO",
            "rg --pre x TODO",
            "rg -z TODO",
            "rg -f list",
            "rg -L TODO",
            "rg TODO /etc",
        ],
    ),
    _reading(
        "find",
        "-name= -iname= -path= -ipath= -type= -maxdepth= -mindepth= -size= -mtime= -mmin= -empty -print -print0 "
        "-not -o -or -a -and",
        match=["find src -name *.py -type f", "find . -maxdepth 2"],
        not_match=[
            "find . -delete",
            "find . -exec rm {} ;",
            "find . -fprint x",
            "find / -name x",
            "find -L .",
            "find . -ok rm {} ;",
            "find -- -delete",
            "find . -files0-from list",
        ],
    ),
    _reading(
        "sort",
        "-n -r -u -f -h -V -b -c -k= -t= --numeric-sort --reverse --unique",
        match=["sort -n -k 2 data.txt"],
        not_match=[
            "sort -o out a",
            "sort a -oout",
            "sort --compress-program=x a",
            "sort -T /tmp a",
            "sort -nro x",
        ],
    ),
    _reading(
        "cut",
        "-d= -f= -c= -b= -s",
        match=["cut -d , -f 2 data.csv"],
        not_match=["cut -f 2 /etc/passwd", "cut --output-delimiter=x -f1 a"],
    ),
    _reading(
        "diff",
        "-u -q -i -w -b -B -y -U= --brief --unified=",
        match=["diff -u a.txt b.txt"],
        not_match=["diff a /etc/passwd", "diff --to-file=x a", "diff -r a b"],
    ),
    _reading("cmp", "-s -l -b", match=["cmp -s a b"], not_match=["cmp a /etc/passwd"]),
    _reading("od", "-c -x -A= -t= -N= -j=", match=["od -c -N 64 a.bin"], not_match=["od /dev/mem"]),
    _reading("pwd", match=["pwd"], not_match=["pwd -L", "pwd x"], positional="none"),
    _reading("date", "-u -I", match=["date -u"], not_match=["date -s now", "date -f x"], positional="none"),
    _reading("uname", "-a -m -r -s", match=["uname -a"], not_match=["uname x"], positional="none"),
)

_SHOWING = (
    "-p -s -w -b -i -U= --patch --no-patch --stat --shortstat --numstat --name-only --name-status --unified= "
    "--word-diff --color=never --abbrev-commit --diff-filter= -M -C"
)


def _git(
    subcommand: str, flags: str = "", *, match: Sequence[str], not_match: Sequence[str], **more: object
) -> Table:
    return _reading(
        f"git {subcommand}",
        flags,
        match=[f"git {line}" for line in match],
        not_match=[f"git {line}" for line in (*not_match, f"-c core.pager=x {subcommand}")],
        **{"reads": "workspace", **more},
    )


_GIT_READ = (
    _git(
        "status",
        "-s -b -sb --short --branch --porcelain --porcelain= --ignored -uno -uall",
        match=["status", "status -sb src"],
        not_match=["status /etc", "-C .. status", "--git-dir=x status"],
    ),
    _git(
        "log",
        f"{_SHOWING} -n= -S= -G= -L= --oneline --graph --all --decorate --no-decorate --decorate= --format= --pretty= "
        "--since= --until= --after= --before= --author= --committer= --grep= --date= --max-count= --skip= --merges "
        "--no-merges --first-parent --reverse --follow --no-color",
        match=["log --oneline -n 5", "log -n5 main..feature -- src", "log --format=%H HEAD~3"],
        not_match=["log --output=x", "log --ext-diff", "log --textconv", "log --show-signature", "log -- -x"],
    ),
    _git(
        "show",
        f"{_SHOWING} --oneline --format= --pretty= --date=",
        match=["show HEAD", "show --stat HEAD~1", "show HEAD:README.md"],
        not_match=["show --output=x HEAD", "show --ext-diff HEAD", "show --outp=x HEAD"],
    ),
    _git(
        "diff",
        f"{_SHOWING} --cached --staged --check --exit-code",
        match=["diff", "diff --cached src", "diff main..feature --stat"],
        not_match=["diff --no-index a /etc/passwd", "diff /etc/passwd a", "diff --output=x", "diff -Oorder"],
    ),
    _git(
        "blame",
        "-w -s -e -L= --date=",
        match=["blame -L 1,10 src/a.py"],
        not_match=["blame --contents x a.py", "blame /etc/passwd"],
    ),
    _git(
        "shortlog",
        "-s -n -e -sn -sne --no-merges",
        match=["shortlog -sn HEAD"],
        not_match=["shortlog --output=x"],
    ),
    _git("describe", "--tags --always --long", match=["describe --tags"], not_match=["describe --dirty"]),
    _git(
        "rev-parse",
        "--short --abbrev-ref --verify --show-toplevel --is-inside-work-tree",
        match=["rev-parse --short HEAD"],
        not_match=["rev-parse --parseopt"],
    ),
    _git(
        "branch",
        "-a -r -v -vv -av --list --all --show-current",
        match=["branch", "branch -vv"],
        not_match=["branch new", "branch -D main", "branch --edit-description"],
        positional="none",
    ),
    _git("tag", "-l --list", match=["tag --list"], not_match=["tag v1", "tag -d v1"], positional="none"),
    _git("stash list", match=["stash list"], not_match=["stash pop", "stash list x"], positional="none"),
    _git(
        "ls-files",
        "-m -o -c -s --others --modified --exclude-standard",
        match=["ls-files src"],
        not_match=["ls-files --exclude-from=x"],
    ),
    _git("ls-tree", "-r -l --name-only", match=["ls-tree -r HEAD"], not_match=["ls-tree --bogus HEAD"]),
    _git(
        "grep",
        "-n -i -w -l -c -F -E -e= -A= -B= -C= --line-number --ignore-case --files-with-matches",
        match=["grep -n -e TODO", "grep TODO HEAD -- src"],
        not_match=[
            "grep -O TODO",
            "grep --open-files-in-pager=x TODO",
            "grep -f x",
            "grep --no-index x /etc",
        ],
    ),
)

PRESETS: Mapping[str, tuple[Table, ...]] = {"git-read": _GIT_READ, "read-only": _READ_ONLY}
"""Each preset by its name. A test judges every rule by its own examples."""
