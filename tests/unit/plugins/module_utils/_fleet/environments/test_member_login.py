# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files that are made for service accounts. ``integration/pulumi/test_member_login.py`` shows them on API servers."""

from __future__ import annotations

import base64
import json
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments import member_login
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.member_login import (
    Account,
    login_problem,
    make_login,
    refuse_foreign,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LIFE = timedelta(days=90)
SERVER = "https://192.0.2.1:6443"
CA = base64.b64encode(b"authority").decode()
Document = dict[str, t.Any]


def token(ends: datetime, begins: datetime | None = None) -> str:
    told = {"exp": int(ends.timestamp()), **({"iat": int(begins.timestamp())} if begins else {})}
    claims = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    return f"e30.{claims}.x"


class Server:
    """Answers every request with ``answer``, or refuses it."""

    server_name = "east"
    answer: t.Any = None

    def __init__(self, _connection: t.Any) -> None:
        """Whoever asks is answered."""

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is open."""

    def post(self, _path: str, _body: Document) -> t.Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> type[Server]:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(member_login, "KubeClient", Server)
    monkeypatch.setattr(Server, "answer", granted())
    return Server


def granted(**status: t.Any) -> Document:
    ends = NOW + LIFE
    return {"status": {"token": token(ends), "expirationTimestamp": ends.isoformat(), **status}}


def named(name: str = "system:serviceaccount:fleet:worker") -> Document:
    return {"status": {"userInfo": {"username": name}}}


def account(folder: Path, **cluster: t.Any) -> Account:
    """By a kubeconfig of an administrator that reaches the server so."""
    document = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **cluster}}],
        "users": [{"name": "u", "user": {"token": "admin"}}],
        "contexts": [{"name": "admin", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / f"admin-{len(list(folder.iterdir()))}"
    path.write_text(json.dumps(document))
    return Account(kubeconfig=str(path), context="admin", namespace="fleet", name="worker")


def made(path: Path) -> Document:
    return t.cast(Document, json.loads(path.read_text())["clusters"][0]["cluster"])


@pytest.mark.parametrize(
    "cluster",
    [
        {"certificate-authority-data": CA},
        {"insecure-skip-tls-verify": True},
        {"certificate-authority-data": CA, "tls-server-name": "api.internal"},
        {"certificate-authority-data": CA, "proxy-url": "socks5://proxy:1080"},
    ],
)
def test_who_has_the_file_reaches_the_server_as_its_administrator_does(
    tmp_path: Path, server: t.Any, cluster: Document
):
    one, path = account(tmp_path, **cluster), tmp_path / "made" / "east"
    assert make_login(one, path, "east", LIFE) == NOW + LIFE
    assert made(path) == {"server": SERVER, **cluster}
    server.answer = named()
    assert login_problem(one, path, LIFE, NOW) == ""
    changed = account(tmp_path, **{**cluster, "tls-server-name": "other"})
    assert login_problem(changed, path, LIFE, NOW) == "its API server is reached in another way"
    assert (
        login_problem(account(tmp_path, server="https://192.0.2.2"), path, LIFE, NOW) == "it is for another API server"
    )


def test_the_login_of_another_stack_is_left_alone(tmp_path: Path):
    """Two stacks of one name have one folder: what is under the name of a member would lead to the other's member."""
    one, path = account(tmp_path), tmp_path / "logins" / "east"
    make_login(one, path, "east", LIFE, "stack dev in /a")
    theirs = path.read_text()
    for owner in ("stack dev in /b", ""):
        with pytest.raises(FleetError, match="made for stack dev in /a") as refused:
            make_login(account(tmp_path, server="https://192.0.2.2"), path, "east", LIFE, owner)
        assert refused.value.code == "login-of-others" and path.read_text() == theirs
    make_login(one, path, "east", LIFE, "stack dev in /a")
    make_login(one, path, "east", LIFE, "stack dev in /b", "stack dev in /a")
    refuse_foreign(path, ("stack dev in /b",))


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
@pytest.mark.parametrize("other", [{"name": "minikube", "extension": {"version": "v1"}}, {"name": "odd"}, 7])
def test_a_login_says_whose_it_is_where_other_tools_have_written_it_anew(
    tmp_path: Path, other: t.Any, write: t.Callable[[t.Any], str]
):
    """kubectl, too, writes a whole kubeconfig anew, and then in YAML."""
    path = tmp_path / "east"
    make_login(account(tmp_path), path, "east", LIFE, "stack dev in /a")
    document = json.loads(path.read_text())
    for extensions in ([other, *document["extensions"]], [*document["extensions"], other]):
        path.write_text(write({**document, "extensions": extensions}))
        with pytest.raises(FleetError, match="made for stack dev in /a"):
            refuse_foreign(path, ("stack dev in /b",))
        refuse_foreign(path, ("stack dev in /a",))


@pytest.mark.parametrize(
    "content", ["", "{}", "7", "[", '{"extensions": [7]}', '{"extensions": [{"name": "minikube"}]}']
)
def test_a_login_that_does_not_tell_whose_it_is_is_anybodys(tmp_path: Path, content: str):
    path = tmp_path / "east"
    path.write_text(content)
    refuse_foreign(path, ("stack dev in /b",))
    make_login(account(tmp_path), path, "east", LIFE, "stack dev in /b")
    with pytest.raises(FleetError, match="login-of-others"):
        refuse_foreign(path, ())


def test_a_proxy_of_our_environment_is_no_part_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    make_login(account(tmp_path), tmp_path / "east", "east", LIFE)
    assert made(tmp_path / "east") == {"server": SERVER}


@pytest.mark.parametrize(
    "answer",
    [{}, {"status": 7}, granted(token=None), granted(token=7), granted(expirationTimestamp=None)]
    + [granted(expirationTimestamp="soon")],
)
def test_an_odd_answer_is_an_error_of_the_server_and_makes_no_file(tmp_path: Path, server: t.Any, answer: t.Any):
    server.answer = answer
    with pytest.raises(ApiError) as refused:
        make_login(account(tmp_path), tmp_path / "east", "east", LIFE)
    assert refused.value.code == "bad-answer" and not (tmp_path / "east").exists()
    assert "e30." not in str(refused.value)


def test_a_token_that_does_not_say_when_it_ends_is_told(tmp_path: Path, server: t.Any):
    server.answer = granted(token="opaque")
    one = account(tmp_path)
    make_login(one, tmp_path / "east", "east", LIFE)
    assert login_problem(one, tmp_path / "east", LIFE, NOW) == "its token does not say when it ends"


def test_a_token_for_which_the_server_granted_less_is_renewed_by_its_own_life(tmp_path: Path, server: t.Any):
    """Clouds grant a day at most; each run would renew it."""
    day = timedelta(days=1)
    server.answer = granted(token=token(NOW + day, NOW), expirationTimestamp=(NOW + day).isoformat())
    one, path = account(tmp_path), tmp_path / "east"
    make_login(one, path, "east", LIFE)
    server.answer = named()
    assert login_problem(one, path, LIFE, NOW) == login_problem(one, path, LIFE, NOW + day * 0.6) == ""
    assert login_problem(one, path, LIFE, NOW + day * 0.7).startswith("its token ends at")


@pytest.mark.parametrize(
    "answer, problem",
    [
        (named("ann"), "it is ann's"),
        (ApiError("unauthorized", "no", status=401), "the API server does not know its token"),
        (ApiError("credentials-expired", "no", status=401), "the API server does not know its token"),
        (ApiError("timeout", "no answer"), ""),
        ({}, ""),
        ({"status": {"userInfo": []}}, ""),
    ],
)
def test_what_the_server_says_of_the_token(tmp_path: Path, server: t.Any, answer: t.Any, problem: str):
    one = account(tmp_path)
    make_login(one, tmp_path / "east", "east", LIFE)
    server.answer = answer
    assert login_problem(one, tmp_path / "east", LIFE, NOW) == problem


def test_a_full_disk_is_told_as_every_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_arguments: t.Any) -> t.NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(member_login, "write_private", full)
    with pytest.raises(FleetError) as refused:
        make_login(account(tmp_path), tmp_path / "east", "east", LIFE)
    assert refused.value.code == "unwritable-folder" and "No space left" in refused.value.message
