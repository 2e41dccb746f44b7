# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who we are on an API server, which version it has (``no-version``), whether it is ready (``/readyz``, failing
checks)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._core.foreign import in_line
from .._core.values.kube_version import KubeVersion
from .._core.values.parts import mapping, name, text
from .client import KubeClient
from .documents import unusable_answer
from .errors import ApiError
from .login.known_secrets import SHOWN

_CHECK = re.compile(r"\[-\]([A-Za-z0-9_./-]{1,100})(?: |$)")
_MOST_CHECKS, _LONGEST_VERSION = 100, 100


@dataclass(frozen=True)
class User:
    """As the API server sees us; ``groups`` and ``uid`` are empty where it tells none."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@dataclass(frozen=True)
class ServerReadiness:
    """What ``/readyz`` says; true if ready. ``failing`` names at most 100 checks that do not hold; a server that is not
    ready may name none."""

    ready: bool
    failing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ready


def who_am_i(client: KubeClient) -> User:
    """The account that the client logs in as, by SelfSubjectReview, with tokens and passwords hidden in it. FleetError
    as of ``request``; ApiError ``bad-answer`` also without a name, or with a part of another type."""
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        info = mapping(mapping(client.post(path, review), "status"), "userInfo")
        groups = info.get("groups") or []
        if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
            raise ValueError("groups is no list of texts")
        # In whose name we ask is no secret here: it is the answer.
        told = [SHOWN.without_secrets(each) for each in (name(info, "username"), text(info, "uid"), *groups)]
        return User(told[0], tuple(told[2:]), told[1])
    except ValueError as error:
        raise unusable_answer(f"POST {path}", str(error), client) from None


def server_readiness(client: KubeClient) -> ServerReadiness:
    """What ``/readyz`` says; any answer with status 500 says that it is not ready. ApiError ``bad-answer`` for
    something that says neither, as a login page does; FleetError as of ``KubeClient.send``."""
    answer = client.send("GET", "/readyz", expect=(500,))
    lines = answer.data.decode("utf-8", "replace").splitlines()
    failing = [found[1] for found in map(_CHECK.match, lines) if found][:_MOST_CHECKS]
    if answer.status < 300 and not any(line.strip() == "ok" or line.startswith("[+]") for line in lines):
        raise unusable_answer("GET /readyz", "it does not say ok", client)
    return ServerReadiness(answer.status < 300, tuple(map(client.hide, failing)))


def version(client: KubeClient) -> str:
    """``gitVersion`` of ``/version``, such as ``v1.36.3``. ApiError ``no-version`` for what is none or has more than
    100 characters, ``bad-answer`` if the server tells nothing; FleetError as of ``request``."""
    found = client.get("/version").get("gitVersion")
    if not isinstance(found, str) or not found:
        raise ApiError("bad-answer", "the server does not tell its version", client.server_name)
    told = client.hide(found)
    try:
        if len(told) > _LONGEST_VERSION:
            raise ValueError("too long")
        KubeVersion.parse(told)
    except ValueError:
        what = f"what the server tells is no version of Kubernetes: {in_line(told, _LONGEST_VERSION)}"
        raise ApiError("no-version", what, client.server_name, "see what stands before the API server") from None
    return told
