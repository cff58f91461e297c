"""gh-aw's firewall around a command in a compiled workflow: the hosts behind it, and the servers of its gateway."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from llmdo.base.parts import table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.github_actions.table import SENDS
from llmdo.features.github_actions.tokens import granted
from llmdo.foreign import servers
from llmdo.foreign.lines import FETCHES, READS_GITHUB
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import EXEC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.features.github_actions.walking import Site
    from llmdo.foreign.team import Grant

FIREWALL = "firewall"
CONNECTS = Capability("net.connect")
FETCHED = frozenset(map(Capability.parse, FETCHES))

OF_EVERY_LOCK = frozenset(
    {
        "anthropic.com", "api.anthropic.com", "api.business.githubcopilot.com", "api.enterprise.githubcopilot.com",
        "api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com", "api.openai.com",
        "api.snapcraft.io", "archive.ubuntu.com", "azure.archive.ubuntu.com", "crl.geotrust.com",
        "crl.globalsign.com", "crl.identrust.com", "crl.sectigo.com", "crl.thawte.com", "crl.usertrust.com",
        "crl.verisign.com", "crl3.digicert.com", "crl4.digicert.com", "crls.ssl.com", "github.com",
        "host.docker.internal", "json-schema.org", "json.schemastore.org", "keyserver.ubuntu.com", "localhost",
        "ocsp.digicert.com", "ocsp.geotrust.com", "ocsp.globalsign.com", "ocsp.identrust.com", "ocsp.sectigo.com",
        "ocsp.ssl.com", "ocsp.thawte.com", "ocsp.usertrust.com", "ocsp.verisign.com", "openai.com",
        "packagecloud.io", "packages.cloud.google.com", "packages.microsoft.com", "ppa.launchpad.net",
        "raw.githubusercontent.com", "s.symcb.com", "s.symcd.com", "security.ubuntu.com",
        "statsig.anthropic.com", "telemetry.enterprise.githubcopilot.com", "ts-crl.ws.symantec.com",
        "ts-ocsp.ws.symantec.com", "www.googleapis.com",
    }
)  # fmt: skip
"""The hosts of `network: defaults` and of the engines: certificates, mirrors of systems, the model, GitHub.

A registry that takes packages of anybody is none of them: it is shown.
"""

_CALLED = re.compile(r"(?<![\w-])awf(?![\w-])")
_ALLOWED = re.compile(
    r"--allow-domains[= ]+[\"']?(?P<words>[^\"'\s]+)|allowDomains\\*\"\s*:\s*\[(?P<list>[^\]]*)\]"
)
_HIDDEN = re.compile(r"--exclude-env[= ]+(\w+)")
_HOST = re.compile(r"(?:https?://)?(?:\*?\.)?(?P<host>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*)(?::\d+)?")
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
_SERVERS = re.compile(r"\"mcpServers\"\s*:\s*(?=\{)")
_OUTPUTS = re.compile(r"safeoutputs/config\.json[^\n]*\n\s*(?=\{)")
_ABOUT_THE_RUN = frozenset(
    {"create_report_incomplete_issue", "missing_data", "missing_tool", "noop", "report_incomplete"}
)
"""Safe outputs of every workflow, which a reader of the run sees."""
_PROXY = "start_cli_proxy"
"""The program behind which `gh` reads GitHub in the place of a server."""
_LEVEL = re.compile(r"\"min-integrity\"\s*:\s*\"([^\"]*)")
_OF_MEMBERS = frozenset({"approved", "merged"})


@dataclass(frozen=True, slots=True)
class Firewall:
    """The firewall around a command."""

    hosts: tuple[str, ...] | None
    """The hosts that anybody may own, sorted; None for all."""
    hidden: frozenset[str]
    """The variables that the command does not get."""

    @property
    def connects(self) -> tuple[Capability, ...]:
        """The capabilities of commands behind it."""
        return (
            (CONNECTS,)
            if self.hosts is None
            else tuple(Capability(CONNECTS.name, host) for host in self.hosts)
        )


def firewall_of(site: Site) -> Firewall | None:
    """The firewall around the commands of a step, or None."""
    script = text(site.step.get("run"))
    allowed = _ALLOWED.search(script)
    if not _CALLED.search(script) or allowed is None:
        return None
    words = re.split(r"[,\s\\\"']+", allowed["words"] or allowed["list"] or "")
    hosts = {host["host"].lower() if (host := _HOST.fullmatch(word)) else None for word in words if word}
    known = None if None in hosts else tuple(sorted({host for host in hosts if host} - OF_EVERY_LOCK))
    return Firewall(known, frozenset(_HIDDEN.findall(script)))


def behind(firewall: Firewall, grants: Iterable[Grant]) -> Iterator[Grant]:
    """The grants of an agent behind a firewall: what it sends goes to the hosts that are let through, if to any."""
    for grant in grants:
        if grant.server:
            yield grant
            continue
        if {*grant.capabilities} == FETCHED and not firewall.connects:
            continue  # there is nobody to fetch from
        runs = any(EXEC.name in each.names for each in grant.capabilities)
        connects = {*firewall.connects} if runs or CONNECTS in grant.capabilities else set()
        reads = {Capability("fs.list"), Capability("fs.read")} if runs else set()
        capabilities = ({*grant.capabilities} - {CONNECTS}) | connects | reads
        if capabilities:
            yield replace(
                grant, capabilities=tuple(sorted(capabilities, key=str)), is_open=grant.is_open and not runs
            )


def gateway_grants(site: Site) -> Iterator[Grant]:
    """The servers that an earlier step starts for the agent, and the outputs that later jobs make of its answers."""
    for step in site.before:
        script = text(step.get("run"))
        for name, server in _object_after(_SERVERS, script).items():
            if name == "github":
                yield _of_github(site, table(server))
            elif name != "safeoutputs":
                yield servers.grant(name, servers.server_of(server), site.at, "allowed", "gh-aw")
        if _PROXY in script:
            level = _LEVEL.search(text(table(step, "env").get("CLI_PROXY_POLICY")))
            yield _reading_github(site, level[1] if level else "")
        for name in _object_after(_OUTPUTS, script):
            if name not in _ABOUT_THE_RUN:
                tool = f"safe-outputs.{name.replace('_', '-')}"
                yield granted(tool, tool, (SENDS,), site.at)


def _of_github(site: Site, server: Mapping[str, object]) -> Grant:
    """GitHub's server, which reads unless its settings let it write."""
    if text(table(server, "env").get("GITHUB_READ_ONLY")) != "1":
        return servers.grant("github", servers.server_of(server), site.at, "allowed", "gh-aw")
    return _reading_github(site, text(table(server, "guard-policies", "allow-only").get("min-integrity")))


def _reading_github(site: Site, level: str) -> Grant:
    """The reading of GitHub; a level known only at run time is that of members."""
    is_filtered = level.startswith("$") or level in _OF_MEMBERS
    return granted("github", "github", ("x.github.read",) if is_filtered else READS_GITHUB, site.at)


def _object_after(key: re.Pattern[str], script: str) -> Mapping[str, object]:
    """The JSON object that a script writes after a key; variables in it stay as they are."""
    before = key.search(script)
    if before is None:
        return {}
    try:
        data, _ = json.JSONDecoder(strict=False).raw_decode(
            _EXPRESSION.sub("0", script[before.end() :].lstrip()).replace("\\$", "$")
        )
    except (ValueError, RecursionError):
        return {}
    return table(data)
