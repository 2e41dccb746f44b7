# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""API servers put values of Secrets into their messages. None of it gets out: reason and field paths do. (F23)"""

from __future__ import annotations

import base64
import json
import time
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from small_fleet import Fleet, Server

CANARY = "canaryOfASecretValue"
FORMS = (CANARY, base64.b64encode(CANARY.encode()).decode()[:20], "4815162342")
SECRETS = "/api/v1/namespaces/default/secrets"
STRICT = {"fieldManager": "tests", "fieldValidation": "Strict"}
Body = dict[str, t.Any]


def secret(metadata: Body | None = None, **fields: t.Any) -> Body:
    named = {"name": "bad", "namespace": "default", **(metadata or {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named, **fields}


# The body, and where the fault is, as it has to be told wherever the server tells it.
BODIES: dict[str, tuple[Body, str]] = {
    "no base64": (secret(data={"password": f"{CANARY}!"}), ""),
    "a number": (secret(data={"password": 4815162342}), ".data"),
    "a map": (secret(data={"password": {"x": CANARY}}), ".data"),
    "a list": (secret(data={"password": [CANARY]}), ".data"),
    "data is text": (secret(data=CANARY), ".data"),
    "data is a list": (secret(data=[CANARY]), ".data"),
    "stringData with a map": (secret(stringData={"password": {"x": CANARY}}), ".stringData"),
    "stringData with a list": (secret(stringData={"password": [CANARY]}), ".stringData"),
    "stringData is text": (secret(stringData=CANARY), ".stringData"),
    "stringData with a number": (secret(stringData={"password": 4815162342}), ".stringData"),
    "a value as key": (secret(stringData={f"password: {CANARY}": ""}), ""),
    "no certificate": (secret(type="kubernetes.io/tls", stringData={"tls.crt": CANARY}), ""),
    "no registry": (secret(type="kubernetes.io/dockerconfigjson", stringData={".dockerconfigjson": f"{{{CANARY}"}), ""),
    "no ssh key": (secret(type="kubernetes.io/ssh-auth", stringData={"password": CANARY}), ""),
    "unknown field": (secret(datum={"password": CANARY}), ".datum"),
    "immutable is text": (secret(immutable=CANARY, stringData={"password": CANARY}), ".immutable"),
    "an annotation is a map": (secret({"annotations": {"a": {"x": CANARY}}}), ".metadata.annotations"),
    "a label that is none": (secret({"labels": {"a": f"x {CANARY}"}}), ".metadata.labels"),
    "a finalizer that is none": (secret({"finalizers": [f"{CANARY} x"]}), ".metadata.finalizers"),
    "too large": (secret(stringData={"password": CANARY * 54_000}), ".data"),  # and not too large for a plan
    "annotations too large": (secret({"annotations": {"a": CANARY * 20_000}}), ".metadata.annotations"),
    "changed though immutable": (secret({"name": "frozen"}, stringData={"password": CANARY}), ".data"),
}


def post(client: KubeClient, body: Body) -> None:
    client.post(SECRETS, body, STRICT)


def put(client: KubeClient, body: Body) -> None:
    client.put(f"{SECRETS}/there", body | {"metadata": body["metadata"] | {"name": "there"}}, STRICT)


def apply(client: KubeClient, body: Body) -> None:
    apply_object(client, body)


def dry_run(client: KubeClient, body: Body) -> None:
    apply_object(client, body, dry_run=True)


def merge(client: KubeClient, body: Body) -> None:
    """Without a kind: that it is a Secret is known from the path."""
    fields = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
    fields["metadata"] = {key: value for key, value in body["metadata"].items() if key not in ("name", "namespace")}
    client.request("PATCH", f"{SECRETS}/there", fields, STRICT, "application/merge-patch+json")


WAYS = {work.__name__: work for work in (post, put, apply, dry_run, merge)}


@pytest.fixture
def member(servers: dict[str, Server]) -> t.Iterator[KubeClient]:
    client = servers["m1"].client
    client.post(SECRETS, {"metadata": {"name": "frozen"}, "immutable": True, "stringData": {"password": "old"}})
    client.post(SECRETS, {"metadata": {"name": "there"}, "stringData": {"password": "old"}})
    yield client
    client.request("DELETE", SECRETS, {"kind": "DeleteOptions", "apiVersion": "v1"})


def everything_in(error: ApiError) -> str:
    return "\n".join([str(error), repr(error), repr(error.__dict__), json.dumps([p.as_dict() for p in error.problems])])


@pytest.mark.parametrize("way", WAYS)
def test_no_value_of_a_malformed_secret_comes_back(
    member: KubeClient, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    heard: list[str] = []
    send = member.send

    def listening(*arguments: t.Any, **named: t.Any) -> t.Any:
        answer = send(*arguments, **named, expect=range(300, 600))
        heard.append(answer.data.decode())
        return send(*arguments, **named)

    monkeypatch.setattr(member, "send", listening)
    leaks, refusals = 0, 0
    for name, (body, place) in BODIES.items():
        try:
            WAYS[way](member, body)
        except ApiError as error:
            refusals += 1
            said, text = heard[-1], everything_in(error)
            assert not [form for form in FORMS if form in text], (name, text)
            assert error.message.startswith(("POST ", "PUT ", "PATCH ")) and "was refused: " in error.message, name
            named = error.code == "invalid" and place.lstrip(".") in said
            assert place in error.message or not named, (name, said, error.message)
            leaks += any(form in said for form in FORMS)
    assert refusals >= 15
    # That many of the server's own answers hold a value: without them this test would prove nothing.
    assert leaks >= 3, leaks


def test_reasons_and_paths_are_told(member: KubeClient) -> None:
    def told(name: str, way: str) -> str:
        with pytest.raises(ApiError) as caught:
            WAYS[way](member, BODIES[name][0])
        return caught.value.message.partition("was refused: ")[2]

    assert told("a map", "apply") == "status 500 at .data.password (a value is no text)"
    assert told("unknown field", "apply") == "status 500 at .datum (there is no such field)"
    assert told("no base64", "post") == "BadRequest (a value under data is not base64)"
    assert told("a map", "post") == "BadRequest at .data (a value is of another type)"
    assert told("changed though immutable", "apply") == "Invalid at .data (the Secret is immutable)"
    assert told("too large", "post") == "Invalid at .data (it is too large)"


def test_who_may_not_read_secrets_is_told_so(servers: dict[str, Server], member: KubeClient) -> None:
    nobody = replace(member.connection, impersonate=(("Impersonate-User", "nobody"),))
    with KubeClient(nobody) as client, pytest.raises(ApiError) as caught:
        client.get(f"{SECRETS}/there")
    assert caught.value.code == "forbidden"
    assert (
        caught.value.message
        == f'GET {SECRETS}/there was refused: Forbidden (the account cannot get resource "secrets")'
    )


@pytest.fixture
def gossip(member: KubeClient) -> t.Iterator[None]:
    """A policy of the member that tells the value of every Secret that it refuses, as admission webhooks do."""
    base = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["secrets"]}
    expression = "'denied: ' + (has(object.data) && 'password' in object.data ? string(object.data['password']) : 'x')"
    policy = {
        "metadata": {"name": "gossip"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.metadata.name != 'told'", "messageExpression": expression}],
        },
    }
    binding = {
        "metadata": {"name": "gossip"},
        "spec": {"policyName": "gossip", "validationActions": ["Deny"]},
    }
    member.post(f"{base}/validatingadmissionpolicies", policy)
    member.post(f"{base}/validatingadmissionpolicybindings", binding)
    yield
    member.delete(f"{base}/validatingadmissionpolicybindings/gossip")
    member.delete(f"{base}/validatingadmissionpolicies/gossip")


def test_what_an_admission_policy_says_of_a_secret_is_not_told(member: KubeClient, gossip: None) -> None:
    body = secret({"name": "told"}, stringData={"password": CANARY})
    end = time.monotonic() + 300
    while True:  # a policy is in force a moment after it was made
        answer = member.send("POST", SECRETS, body, expect=(422, 403))
        if answer.status != 201:
            break
        member.delete(f"{SECRETS}/told")
        assert time.monotonic() < end
        time.sleep(0.1)
    assert any(form in answer.data.decode() for form in FORMS)
    for way in ("post", "apply", "dry_run"):
        with pytest.raises(ApiError) as caught:
            WAYS[way](member, body)
        assert not [form for form in FORMS if form in everything_in(caught.value)]
        assert "was refused: Invalid" in caught.value.message


def test_nothing_of_it_reaches_results_or_records(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1", "m2")
    # What stands in metadata or is a key is recorded; no value of a Secret belongs there.
    odd = ("as key", "annotation", "label", "finalizer")
    chosen = [body for name, (body, _place) in BODIES.items() if not any(word in name for word in odd)]
    bodies = [
        {**body, "metadata": {"name": f"s{number}", "namespace": fleet.namespace}} for number, body in enumerate(chosen)
    ]
    fleet.resources(fleet.configmap(), *bodies)
    fleet.place()
    for report in (fleet.look(), fleet.apply(), fleet.look()):
        shown = [str(each) for each in report.problems]
        shown += [line for plan in report.plan.plans for line in plan_text(plan, report.outcomes_of(plan.name))]
        shown += [json.dumps(each.as_dict()) for outcomes in report.outcomes.values() for each in outcomes.values()]
        shown += [json.dumps(report.plan.as_dict()), *(json.dumps(encode(each)) for each in report.statuses.values())]
        shown += fleet.said
        assert not [form for form in FORMS if form in "\n".join(shown)]
    kept = b"".join(file.read_bytes() for file in Path(fleet.folder).glob("records.db*"))
    assert kept and not [form for form in FORMS if form.encode() in kept]
    assert len(fleet.records.events("ClusterResourcePlacement", fleet.name)) > 0
