"""Neovim itself, with the settings that docs/editor.md gives and nothing besides."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.features.editor.workspace import FILES, bait, settings

FIRST = (0, 11)
"""The first version that has `vim.lsp.config`."""

DRIVER = """
local answers, root = {}, vim.fn.getcwd()

local function wait(what, holds)
  if not vim.wait(40000, holds, 50) then
    error("still waiting for " .. what .. ": " .. vim.inspect(vim.diagnostic.get()))
  end
end
local function codes()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { each.code, each.lnum, each.col, each.end_col })
  end
  return found
end
local function at(line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  return vim.lsp.util.make_position_params(0, "utf-16")
end
local function ask(method, parameters)
  local answer = vim.lsp.buf_request_sync(0, method, parameters, 20000)
  local _, first = next(answer)
  return first and first.result or vim.inspect(answer)
end
local function type_(line, text)
  vim.api.nvim_buf_set_lines(0, line - 1, line, false, { text })
end

local function drive()
  for _, path in ipairs({ "main.worker", "notes.worker.md", "llmdo.toml", "kit.py" }) do
    vim.cmd.edit(path)
    wait("the server in " .. path, function() return #vim.lsp.get_clients({ bufnr = 0, name = "llmdo" }) == 1 end)
    answers[path] = vim.bo.filetype
  end
  local client = vim.lsp.get_clients({ name = "llmdo" })[1]
  wait("initialize", function() return client.initialized end)
  answers.servers, answers.root = #vim.lsp.get_clients(), client.root_dir

  vim.cmd.edit("main.worker")
  wait("no findings", function() return #codes() == 0 end)
  type_(4, "  othr: {}")
  wait("a finding", function() return #codes() > 0 end)
  answers.finding = codes()
  local fixes = ask("textDocument/codeAction", {
    textDocument = vim.lsp.util.make_text_document_params(),
    range = { start = { line = 3, character = 2 }, ["end"] = { line = 3, character = 6 } },
    context = { diagnostics = vim.tbl_map(function(each) return each.user_data.lsp end, vim.diagnostic.get(0)) },
  })
  answers.fixes = vim.tbl_map(function(each) return each.title end, fixes)
  vim.lsp.util.apply_workspace_edit(fixes[1].edit, client.offset_encoding)
  wait("no findings after the fix", function() return #codes() == 0 end)
  answers.fixed = vim.api.nvim_buf_get_lines(0, 3, 4, false)[1]

  answers.hover = ask("textDocument/hover", at(2, 6)).contents.value
  answers.definition = ask("textDocument/definition", at(4, 3))[1].uri
  type_(4, "  o")
  local completions = ask("textDocument/completion", at(4, 2))
  answers.completions = vim.tbl_map(function(each) return each.label end, completions.items or completions)
  type_(4, "  other: {}")
  at(4, 3)
  vim.lsp.buf.rename("helper")
  wait("the rename", function() return vim.api.nvim_buf_get_lines(0, 3, 4, false)[1] == "  helper: {}" end)
  vim.cmd("wall")
  vim.cmd.edit("other.worker")
  answers.renamed = vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]
  vim.cmd("wall")
  vim.cmd.edit("main.worker")
  wait("no findings after the rename", function() return #codes() == 0 end)
  local lenses = ask("textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() })
  answers.lens = lenses[1].command.title
end

local is_done, problem = xpcall(drive, debug.traceback)
answers.problem = not is_done and problem or nil
vim.fn.writefile({ vim.json.encode(answers) }, "answers.json")
for _, each in ipairs(vim.lsp.get_clients()) do each:stop() end
vim.wait(10000, function() return #vim.lsp.get_clients() == 0 end, 50)
vim.cmd("qall!")
"""


def neovim() -> str:
    path = shutil.which("nvim")
    if path is None:
        pytest.skip("there is no `nvim` here")
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", shown)
    assert version, shown
    if tuple(map(int, version.groups())) < FIRST:
        pytest.skip(
            f"Neovim {version[1]}.{version[2]} has no `vim.lsp.config`: the settings are for 0.11 and later"
        )
    return path


@pytest.mark.long
@pytest.mark.timeout(200)
def test_neovim_shows_what_the_server_finds_and_renames_by_it(tmp_path: Path) -> None:
    program = neovim()
    root = tmp_path / "w"
    root.mkdir()
    for path, text in FILES.items():
        (root / path).write_text(text, encoding="utf-8")
    bait(root)
    (tmp_path / "init.lua").write_text(settings("lua"), encoding="utf-8")
    (tmp_path / "drive.lua").write_text(DRIVER, encoding="utf-8")
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    environ = {
        **os.environ,
        **{f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in kinds},
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    words = [
        program,
        "--headless",
        "-u",
        str(tmp_path / "init.lua"),
        "-c",
        f"luafile {tmp_path / 'drive.lua'}",
    ]
    done = subprocess.run(
        words, cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    answers: dict[str, Any] = json.loads((root / "answers.json").read_text(encoding="utf-8"))
    assert "problem" not in answers, answers["problem"] + done.stderr
    assert done.returncode == 0, done.stderr
    assert [answers[path] for path in ("main.worker", "notes.worker.md", "llmdo.toml", "kit.py")] == [
        "llmdo-worker", "llmdo-worker", "toml", "python",
    ]  # fmt: skip
    assert (answers["servers"], answers["root"]) == (1, str(root))
    assert answers["finding"] == [["LDO202", 3, 2, 6]]
    assert answers["fixes"][0] == "Write `other` for `othr`"
    assert answers["fixed"] == "  other: {}"
    assert "**worker `main`**" in answers["hover"]
    assert answers["definition"] == (root / "other.worker").as_uri()
    assert "other" in answers["completions"]
    assert (answers["renamed"], answers["lens"].split()[0]) == ("name: helper", "reaches")
    assert (root / "main.worker").read_text(encoding="utf-8") == FILES["main.worker"].replace(
        "other", "helper"
    )
    assert (root / "other.worker").read_text(encoding="utf-8") == FILES["other.worker"].replace(
        "other", "helper"
    )
    assert not (root / "executed").exists()
