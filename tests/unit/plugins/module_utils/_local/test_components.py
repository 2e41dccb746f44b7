# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which components are started, stopped and replaced; what each is started with."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import control_plane
from ansible_collections.gitops.fleet.plugins.module_utils._local.binaries import Binary
from ansible_collections.gitops.fleet.plugins.module_utils._local.components import (
    PROFILES,
    Options,
    arguments,
    environment,
    files,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.control_plane import (
    Component,
    ControlPlanePlan,
    decide,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import USERS
from ansible_collections.gitops.fleet.plugins.module_utils._local.state import State

PORTS = {user: 100 + number for number, user in enumerate(USERS)}
FOLDER = Path("/c")
API, ETCD = Component("1.36.3", ("--a",)), Component("3.6.14", ("--b",))
BOTH = {"etcd": ETCD, "kube-apiserver": API}


def test_nothing_is_done_where_all_is_as_wanted():
    assert decide(BOTH, dict(BOTH)) == ControlPlanePlan()


def test_a_program_that_is_none_of_theirs_has_no_arguments():
    with pytest.raises(KeyError, match="kwokctl"):
        arguments("kwokctl", FOLDER, PORTS, Options("fleet"))


def test_servers_start_before_their_users():
    wanted = dict.fromkeys(reversed(PROFILES["karpenter"]), API)
    assert decide(wanted, {}).start == PROFILES["karpenter"]


def test_only_what_died_is_started():
    plan = decide(BOTH, {"etcd": ETCD}, died=("kube-apiserver",))
    assert plan == ControlPlanePlan((), ("kube-apiserver",), ("start kube-apiserver, which had died",))


def test_another_version_or_other_options_replace_a_process():
    newer = decide({**BOTH, "kube-apiserver": Component("1.37.0", ("--a",))}, BOTH)
    assert (newer.stop, newer.start) == (("kube-apiserver",), ("kube-apiserver",))
    assert newer.words == ("change kube-apiserver from 1.36.3 to 1.37.0",)
    other = decide({**BOTH, "etcd": Component("3.6.14", ("--c",))}, BOTH)
    assert other.words == ("restart etcd with other options",)


def test_a_component_that_is_not_wanted_is_stopped():
    assert decide({"etcd": ETCD}, BOTH) == ControlPlanePlan(("kube-apiserver",), (), ("stop kube-apiserver",))


@pytest.mark.parametrize(
    ("writes", "code"), [("its data are damaged", "component-died"), ("panic: address already in use", "port-taken")]
)
def test_of_what_ended_only_what_it_wrote_itself_says_why(tmp_path, writes, code):
    """A log goes on from start to start, and an earlier one may have found its port taken."""
    log = control_plane.log_of(tmp_path, "etcd")
    log.parent.mkdir()
    log.write_text("panic: listen tcp 127.0.0.1:2379: bind: address already in use\n")
    program = tmp_path / "etcd"
    program.write_text(f"#!/bin/sh\necho '{writes}'\n")
    program.chmod(0o700)
    state = State("one", PORTS)
    with pytest.raises(FleetError) as ended:
        control_plane.wait(
            tmp_path,
            control_plane._launch(tmp_path, state, "etcd", Component("3.6.14", ()), Binary("etcd", program, "3.6.14")),
            lambda: "etcd did not listen",
            time.monotonic() + 60,
        )
    assert ended.value.code == code
    assert code == "port-taken" or (writes in ended.value.message and "panic" not in ended.value.message)


@pytest.mark.parametrize("name", PROFILES["fleet"])
def test_every_listener_is_on_loopback(name):
    given = arguments(name, FOLDER, PORTS, Options("fleet"))
    listeners = [one for one in given if "://" in one or "address=" in one]
    assert listeners
    assert all("127.0.0.1" in one or "kubernetes.default.svc" in one for one in listeners)


def test_karpenter_finds_its_login_in_the_clusters_folder_and_its_metrics_have_a_port():
    """It takes no address to listen on and no path of a kubeconfig: loopback is in its main program."""
    assert environment("karpenter", FOLDER) == {"KUBECONFIG": "/c/karpenter.kubeconfig"}
    assert not any(environment(name, FOLDER) for name in PROFILES["fleet"])
    given = arguments("karpenter", FOLDER, {**PORTS, "karpenter": 99}, Options("karpenter"))
    assert {"--metrics-port=99", "--health-probe-port=0", "--disable-leader-election=true"} <= set(given)


def test_etcd_is_asked_only_by_clients_of_its_cluster():
    given = arguments("etcd", FOLDER, PORTS, Options("api"))
    assert {"--client-cert-auth=true", "--peer-client-cert-auth=true"} <= set(given)
    assert not any(one.startswith("--unsafe") for one in given)


def test_service_accounts_are_admitted_as_soon_as_somebody_makes_them():
    def admits(profile):
        given = arguments("kube-apiserver", FOLDER, PORTS, Options(profile))
        return "--disable-admission-plugins=ServiceAccount" not in given

    assert [admits(profile) for profile in PROFILES] == [False, True, True, True]


def test_other_tokens_are_other_arguments_without_being_shown():
    one, two = Options("api", tokens="aaa,u,u,"), Options("api", tokens="bbb,u,u,")
    given = arguments("kube-apiserver", FOLDER, PORTS, one)
    assert given != arguments("kube-apiserver", FOLDER, PORTS, two)
    assert not any("aaa" in argument for argument in given)
    assert list(files(FOLDER, one).values()) == [b"aaa,u,u,"]


def test_the_audit_log_has_one_line_a_request_without_bodies():
    (policy,) = list(files(FOLDER, Options("api", audit=True)).values())
    assert b'"level": "Metadata"' in policy and b"RequestReceived" in policy
