"""The capabilities of GitHub Copilot's tools."""

from __future__ import annotations

from llmdo.foreign.lines import EDITS, FETCHES, RUNS, RUNS_OWN, SERVES, Line

VERSION = "1.0.102"
"""The version of Copilot CLI that `make clients` compares with."""
_GITHUB = "https://docs.github.com/en/copilot/reference/custom-agents-configuration#tool-aliases"
_GITHUB_SERVERS = "https://docs.github.com/en/copilot/reference/custom-agents-configuration#mcp-server-configuration-details"
_VSCODE = "https://code.visualstudio.com/docs/copilot/reference/copilot-vscode-features#_chat-tools"
_APPROVAL = "https://code.visualstudio.com/docs/copilot/agents/agent-tools#_tool-approval"
_SENSITIVE = "https://code.visualstudio.com/docs/copilot/chat/review-code-edits#_edit-sensitive-files"
_SERVERS = "https://code.visualstudio.com/docs/copilot/customization/mcp-servers"
_EXTENSION = "https://github.com/microsoft/vscode-copilot-chat/blob/main/package.json"

TABLE = (
    Line("execute", RUNS, "allowed", "open", _GITHUB),
    Line("read", ("fs.read",), "allowed", "declared", _GITHUB),
    Line("edit", EDITS, "allowed", "declared", _GITHUB),
    Line("search", ("fs.list", "fs.read"), "allowed", "declared", _GITHUB),
    Line("agent", ("agent.delegate",), "allowed", "declared", _GITHUB),
    Line("github/TOOL", ("data.untrusted", "x.github.read"), "allowed", "declared", _GITHUB),
    Line("playwright/TOOL", ("x.playwright.localhost",), "allowed", "declared", _GITHUB),
    Line("SERVER/TOOL of mcp-servers", SERVES, "allowed", "open", _GITHUB_SERVERS),
    Line("SERVER/TOOL of .vscode/mcp.json", SERVES, "needs_approval", "open", _SERVERS),
    Line("agent/runSubagent", ("agent.delegate",), "allowed", "declared", _VSCODE),
    Line("web/fetch", FETCHES, "needs_approval", "declared", _APPROVAL),
    Line("web/githubRepo", ("data.untrusted", "x.github.read"), "allowed", "declared", _VSCODE),
    Line("web/githubTextSearch", ("data.untrusted", "x.github.read"), "allowed", "declared", _VSCODE),
    *(
        Line(f"browser/{name}", FETCHES, "needs_approval", "declared", _VSCODE)
        for name in (
            "clickElement", "dragElement", "handleDialog", "hoverElement", "navigatePage", "openBrowserPage",
            "readPage", "runPlaywrightCode", "screenshotPage", "typeInPage",
        )
    ),
    *(
        Line(f"edit/{name}", ("fs.read", "fs.write"), "allowed", "declared", _VSCODE)
        for name in ("editFiles", "editNotebook", "rename")
    ),
    *(
        Line(f"edit/{name}", ("fs.write",), "allowed", "declared", _VSCODE)
        for name in ("createDirectory", "createFile", "createJupyterNotebook")
    ),
    *(
        Line(f"edit/{name}: sensitive files", ("fs.write.protected",), "needs_approval", "declared", _SENSITIVE)
        for name in ("createFile", "editFiles")
    ),
    Line("execute/createAndRunTask", RUNS, "needs_approval", "open", _APPROVAL),
    Line("execute/executionSubagent", RUNS, "needs_approval", "open", _EXTENSION),
    Line("execute/runInTerminal", RUNS, "needs_approval", "open", _APPROVAL),
    Line("execute/runNotebookCell", RUNS, "needs_approval", "open", _APPROVAL),
    Line("execute/runTask", RUNS_OWN, "needs_approval", "open", _APPROVAL),
    Line("execute/runTests", RUNS_OWN, "needs_approval", "open", _APPROVAL),
    Line("execute/sendToTerminal", RUNS, "needs_approval", "open", _APPROVAL),
    Line("execute/testFailure", ("fs.read",), "allowed", "declared", _VSCODE),
    *(
        Line(f"read/{name}", ("fs.read",), "allowed", "declared", _VSCODE)
        for name in ("getNotebookSummary", "problems", "readFile", "readNotebookCellOutput", "viewImage")
    ),
    Line("search/fileSearch", ("fs.list",), "allowed", "declared", _VSCODE),
    Line("search/listDirectory", ("fs.list",), "allowed", "declared", _VSCODE),
    *(
        Line(f"search/{name}", ("fs.list", "fs.read"), "allowed", "declared", _VSCODE)
        for name in (
            "changes", "codebase", "findTestFiles", "searchResults", "searchSubagent", "symbols",
            "textSearch", "usages",
        )
    ),
    Line("vscode/extensions", ("data.untrusted",), "allowed", "declared", _VSCODE),
    Line("vscode/installExtension", ("net.connect", *RUNS_OWN), "needs_approval", "open", _VSCODE),
    Line("vscode/newWorkspace", ("fs.write",), "needs_approval", "declared", _EXTENSION),
    Line("vscode/openSimpleBrowser", ("net.connect",), "needs_approval", "declared", _EXTENSION),
    Line("vscode/runCommand", RUNS, "needs_approval", "open", _VSCODE),
    *(
        Line(name, (), "allowed", "declared", _VSCODE)
        for name in (
            "execute/awaitTerminal", "execute/getTaskOutput", "execute/getTerminalOutput", "execute/killTerminal",
            "read/terminalLastCommand", "read/terminalSelection", "todo/todos", "vscode/askQuestions",
            "vscode/getProjectSetupInfo", "vscode/memory", "vscode/renderMermaidDiagram",
            "vscode/resolveMemoryFileUri", "vscode/selection", "vscode/switchAgent",
            "vscode/think", "vscode/toolSearch", "vscode/updateUserPreferences", "vscode/vscodeAPI",
        )
    ),
)  # fmt: skip
"""First the tools of GitHub's cloud agent, which runs unattended; with a set before them those of VS Code, which asks.

An agent without `target: vscode` may run in the cloud. There no call is asked about, `web` and `todo` are missing, and
the firewall, which a repository may switch off, counts as off.
"""
