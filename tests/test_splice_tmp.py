import copy
import tomllib
from hypothesis import given, settings, strategies as st
from llmdo.scaffold import splice

noise = st.lists(st.sampled_from(["", "", "   ", "# a comment", "\t# [entries.fake]", "# zz = 1", "#"]), max_size=3)
spaces = st.sampled_from(["", " ", "  ", "\t"])
tails = st.sampled_from(["", "", "  ", " # why", "\t#[x]"])

@st.composite
def pair(draw, key, value):
    return f"{draw(spaces)}{key}{draw(spaces)}={draw(spaces)}{value}{draw(tails)}".split("\n")

ARRAYS = ['["a/*.worker"]', "[]", "[ ]", '[ "a", "b" ]', '["a", "b",]', '[\n  "a",  # one\n  "b"  # two\n]', '[\n    "a",\n    # last\n    "b",\n]',
          '[\n]', '["a",\n "b"]', '[ "a" , # x\n  "b" ]', '[\n  "a"\n, "b"\n,]']
TEXT = '"""\n[entries.fake]\n# no comment\nx = 1\n"""'

@st.composite
def manifests(draw):
    lines = draw(noise)
    lines += draw(pair("schema", "1"))
    forms = {name: draw(st.sampled_from(["none", "root", "dotted", "section", "section"])) for name in ("paths", "rules", "entries", "toolsets")}
    root = {"paths": ['paths = { "a" = "b" }', "paths={'a b'='b',c='d' }", "paths = {}"],
            "rules": ['approvals = { default = "blocked", rules = {"net" = "blocked" } }', 'approvals = { rules."net" = "blocked" }', 'approvals = {}'],
            "entries": ['entries = { main = { worker = "main" } }', 'entries = { main.worker = "main", main.input = "x" }'],
            "toolsets": ['toolsets = { calc = {} }']}
    dotted = {"paths": ['paths."a b" = "c"', 'paths.x = "y"'], "rules": ['approvals.rules."fs.read" = "blocked"', 'approvals . default = "blocked"'],
              "entries": ['entries.main.worker = "main"', 'entries."main".input = ' + TEXT], "toolsets": ['toolsets.calc.python = "a"']}
    for name, form in forms.items():
        if form == "root":
            lines += draw(noise) + [draw(st.sampled_from(root[name])) + draw(tails)]
        if form == "dotted":
            for line in dotted[name]:
                lines += draw(noise) + line.split("\n")
    sections = [["[workspace]", *draw(pair("name", '"x"')), *draw(noise), *draw(pair("workers", draw(st.sampled_from(ARRAYS))))],
                ["[[check.accept]]", *draw(pair("reason", TEXT))]]
    if forms["paths"] == "section":
        sections.append([draw(spaces) + "[ paths ]" + draw(tails), *draw(noise), *draw(pair('"a b"', '"c"')), *draw(noise), *draw(pair("'d'", '"c"')), *draw(noise)])
    if forms["rules"] == "section":
        sections.append(draw(st.sampled_from([["[approvals]", 'default = "blocked"'], ["[approvals]", 'rules."net" = "blocked"', 'default = "blocked"'],
                                              ["[approvals.rules]", '"net" = "blocked"'], ["[approvals]", 'rules = { net = "blocked" } # x']])) + draw(noise))
    if forms["entries"] == "section":
        sections.append([draw(st.sampled_from(["[entries.main]", "[ entries . main ]"])), *draw(noise), *draw(pair("input", TEXT)), *draw(noise)])
        sections.append(draw(st.sampled_from([["[entries]", *draw(noise)], ["[entries]", 'other = { worker = "main" }'], ["[entries.main.limits]", "requests = 1"], ["[entries.b]"]])))
    if forms["toolsets"] == "section":
        sections.append(["[toolsets.calc]", *draw(noise), *draw(pair("python", '"a"'))])
    for section in draw(st.permutations(sections)):
        lines += section + draw(noise)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(lines) + draw(st.sampled_from(["", newline, newline * 3]))

EDITS = [(("entries", "zz"), {"worker": "main", "input": 'a "b"\nc'}), (("toolsets", "zz"), {"python": "t.py:x"}), (("paths", "zz/"), "y/"),
         (("approvals", "rules", "fs.write:zz/**"), "allowed")]

def is_subsequence(short, long):
    rest = iter(long)
    return all(item in rest for item in short)

@settings(max_examples=3000, deadline=None)
@given(manifests(), st.sampled_from(EDITS))
def test_add_remove(text, edit):
    route, value = edit
    expected = tomllib.loads(text)
    table = expected
    for name in route[:-1]:
        table = table.setdefault(name, {})
    table[route[-1]] = value
    added = splice.insert(text, route, value)
    assert tomllib.loads(added) == expected
    assert is_subsequence(text, added)
    if "\r\n" in text:
        assert added.count("\n") == added.count("\r\n")
    else:
        assert "\r" not in added
    assert splice.delete(added, route) == text

@settings(max_examples=1000, deadline=None)
@given(manifests())
def test_array(text):
    n = len(tomllib.loads(text)["workspace"]["workers"])
    added = splice.append(text, ("workspace", "workers"), "zz.worker")
    data = tomllib.loads(text); data["workspace"]["workers"].append("zz.worker")
    assert tomllib.loads(added) == data
    assert is_subsequence(text, added)
    assert splice.withdraw(added, ("workspace", "workers"), n) == text

@settings(max_examples=1000, deadline=None)
@given(manifests(), st.data())
def test_delete_any(text, data):
    parsed = tomllib.loads(text)
    routes = [("entries", n) for n in parsed.get("entries", {})] + [("paths", n) for n in parsed.get("paths", {})] + [("approvals", "rules", n) for n in parsed.get("approvals", {}).get("rules", {})] + [("toolsets", n) for n in parsed.get("toolsets", {})]
    items = [("workspace","workers",i) for i in range(len(parsed["workspace"]["workers"]))]
    if not routes + items: return
    route = data.draw(st.sampled_from(routes + items))
    table = parsed
    for name in route[:-1]: table = table[name]
    del table[route[-1]]
    new = splice.delete(text, route) if isinstance(route[-1], str) else splice.withdraw(text, route[:-1], route[-1])
    def prune(d): return {k: v for k, v in ((k, prune(v) if isinstance(v, dict) else v) for k, v in d.items()) if v != {}}
    assert prune(tomllib.loads(new)) == prune(parsed)
    assert is_subsequence(new, text)
