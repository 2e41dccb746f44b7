# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Texts of FleetMembers: what platforms and people really write, and what must not reach a command, role or screen."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.tests.data.manifest_parts import SECRET_REF, Row, member

TEMPLATE = "{{ lookup('ansible.builtin.pipe', 'touch /tmp/canary') }}"
CONTEXTS = (
    "arn:aws:eks:eu-west-1:111122223333:cluster/shop",
    "gke_my-project_europe-west1-b_shop",
    "connectgateway_my-project_global_shop",
    "kubernetes-admin@kubernetes",
    "anna@shop.eu-west-1.eksctl.io",
    "default/api-crc-testing:6443/kube:admin",
    "ns/api-shop-example-com:6443/live.com#anna@example.com",
    "shop_admin",
    "Shop of old",
)
KUBECONFIGS = (
    "~/.kube/config",
    "$HOME/.kube/config",
    "${XDG_CONFIG_HOME}/fleet/east.yml",
    "/home/jörg/Kube configs/east (1).yml",
    "../kubeconfigs/east",
)
GOOD_MEMBERS = (
    *(Row(f"context {each}", member({"kubeconfig": "a", "context": each})) for each in CONTEXTS),
    *(Row(f"kubeconfig {each}", member({"kubeconfig": each})) for each in KUBECONFIGS),
    Row("key of a secret", member({"secretRef": {**SECRET_REF, "key": "admin.conf_2"}})),
    Row("words", member({"inCluster": True}, location="Wien (RZ 2), 3. Stock", provider="Azure Stack HCI")),
)
WRONG = (TEMPLATE, "{% raw %}", "two\nlines", "\x1b[31mred", "a\x9bb", "a\u202eb")


def _in(place: str, value: str) -> dict[str, t.Any]:
    if place in ("location", "provider", "maintenance", "group"):
        return member({"inCluster": True}, **{place: value})
    if place.startswith("secretRef."):
        return member({"secretRef": {**SECRET_REF, place.removeprefix("secretRef."): value}})
    return member({"kubeconfig": "a", place: value} if place != "kubeconfig" else {place: value})


def _path(place: str) -> str:
    return f"spec.{place}" if place in ("location", "provider", "maintenance", "group") else f"spec.connection.{place}"


_PLACES = (
    "context",
    "kubeconfig",
    "secretRef.name",
    "secretRef.namespace",
    "secretRef.key",
    "group",
    "location",
    "maintenance",
    "provider",
)
_ODD = {
    "context": ("-as=root", " east", "east ", "a;reboot", "a`id`", "$(id)", 'a"b', "a\\b"),
    "kubeconfig": ("${HOME", "${{HOME}}", "{HOME}"),
    "secretRef.name": ("../east", "East"),
    "secretRef.namespace": ("a/b", "a.b"),
    "secretRef.key": ("a/b", "a b"),
    "maintenance": ("a/b",),
}


def _code(place: str, value: str) -> str:
    return "wrong-length" if len(value) > {"group": 50, "secretRef.namespace": 63}.get(place, 100) else "wrong-form"


BAD_MEMBERS = tuple(
    Row(f"{place} {value!a}", _in(place, value), (f"{_code(place, value)} {_path(place)}",))
    for place in _PLACES
    for value in (*WRONG, *_ODD.get(place, ()))
)
