"""Names that mostly stand for secrets, in every spelling that a file system may take for the same."""

from __future__ import annotations

import pytest

from llmdo.policy.protection import SECRET_FILES, is_secret, may_hold_secrets


@pytest.mark.few(18)
@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", ".envrc", ".ENV", "./.env", "sub/.env", "sub//.Env", ".e\u200bnv", ".env ", ".env.",
        "deploy/prod.env", "secrets.toml", ".streamlit/secrets.toml", ".git", ".git/config", ".GIT/config", ".git./HEAD",
        "vendor/x/.git/config", ".git-credentials", ".llmdo/runs/1.sqlite", ".llmdo", ".netrc", "_netrc", ".npmrc",
        "web/.npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", "id_rsa", "keys/id_ed25519.pub", "certs/server.pem",
        "certs/server.KEY", "x.p12", "x.pfx", "x.jks", ".ssh/config", ".ssh", ".gnupg/x", ".aws/credentials", ".kube/config",
        ".azure/x", ".config/gcloud/x.json", ".config/gh/hosts.yml", ".docker/config.json", "sub/.docker/config.json",
        "credentials", "gcp-credentials.json", "client_secret_1.json", "service-account-x.json", "terraform.tfstate",
        ".htpasswd", ".pgpass", ".vault-token", "server.pem/x",
    ],
)  # fmt: skip
def test_a_name_that_mostly_stands_for_a_secret_is_one(path: str) -> None:
    assert is_secret(path)
    assert may_hold_secrets(path)


@pytest.mark.parametrize(
    "path",
    [
        ".", "README.md", "env", "env/x", "environment.py", ".github/workflows/ci.yml", ".gitignore", ".gitattributes",
        "git/config", "llmdo.toml", "llmdo/x", "pem", "a.pem.txt", "key.py", "monkey", "keys/a.txt", "identity.md",
        "grid_x", "credentials.py", "secrets.py", ".docker/Dockerfile", ".config/x", "a.env.py", "x.keys", "ssh/config",
    ],
)  # fmt: skip
def test_other_names_are_read_as_ever(path: str) -> None:
    assert not is_secret(path)
    assert not may_hold_secrets(path)


def test_a_folder_may_hold_any_name() -> None:
    assert may_hold_secrets("**")
    assert may_hold_secrets("input/**")


def test_the_list_is_written_as_names_are_compared() -> None:
    assert all(is_secret(pattern.replace("*", "x")) for pattern in SECRET_FILES)
    assert all(pattern == pattern.casefold() for pattern in SECRET_FILES)
