# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The document in which a user tells of the network of the clusters (``subnets``, ``podCIDRs``, ``serviceCIDRs``,
``dockerBridgeCIDR``, ``addressesPerNode``, ``reached``), read and judged, for changes of subnets:
``network-invalid``."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ...errors import FleetError, Problem
from ...values.parts import is_whole_number
from ..subnet_change import DOCKER_BRIDGE, Network, Subnet, range_problem

FORM = (
    'such as {"subnets": {"/subscriptions/.../subnets/nodes": {"prefixes": ["10.1.0.0/24"], "used": 3}}, '
    '"podCIDRs": ["10.244.0.0/16"], "serviceCIDRs": ["10.0.0.0/16"], "addressesPerNode": 31}'
)
_LISTS, _NUMBERS = ("podCIDRs", "serviceCIDRs"), ("addressesPerNode",)
_REACHED = "reached"
_FIELDS = ("subnets", "dockerBridgeCIDR", _REACHED, *_LISTS, *_NUMBERS)


def read_network(document: t.Any, where: str) -> Network:
    """The network that a document of the form in ``FORM`` describes; only ``dockerBridgeCIDR`` and ``reached`` may
    stand there too. ``where`` names the file. ``subnets`` is None if it has none: nobody looked. FleetError
    ``network-invalid`` with all problems, ranges being judged once all else is well; an empty one of the bridge is
    none."""
    if not isinstance(document, Mapping):
        raise FleetError("network-invalid", "this describes no network", where, FORM)
    wrong = [f"there is no field {key!r:.60}" for key in document if key not in _FIELDS]
    wrong += [f"{key}: a list of ranges is wanted" for key in _LISTS if not _are_texts(document.get(key, []))]
    wrong += [f"{key}: a number from 1 is wanted" for key in _NUMBERS if not is_whole_number(document.get(key, 1), 1)]
    wrong += (
        [] if _are_texts(document.get(_REACHED, [])) else [f"{_REACHED}: a list of identities of subnets is wanted"]
    )
    bridge = document.get("dockerBridgeCIDR", DOCKER_BRIDGE)
    wrong += [] if isinstance(bridge, str) else ["dockerBridgeCIDR: a range is wanted"]
    subnets = document.get("subnets")
    rows = subnets if isinstance(subnets, Mapping) else {}
    wrong += [] if subnets is None or isinstance(subnets, Mapping) else ["subnets: an object by identity is wanted"]
    wrong += [
        f"subnets {name!r:.80}: prefixes, and used, are wanted" for name, each in rows.items() if not _is_entry(each)
    ]
    if not wrong:
        ranges = [*filter(None, [bridge]), *(each for key in _LISTS for each in document.get(key, []))]
        ranges += [prefix for each in rows.values() for prefix in each["prefixes"]]
        wrong += [text for each in ranges if (text := range_problem(each))]
    if wrong:
        raise FleetError.of(Problem("network-invalid", text, where, FORM) for text in wrong)
    found = {
        str(name): Subnet(prefixes=tuple(each["prefixes"]), used=each.get("used", 0)) for name, each in rows.items()
    }
    return Network(
        subnets=None if subnets is None else found,
        pod_cidrs=tuple(document.get("podCIDRs", ())),
        service_cidrs=tuple(document.get("serviceCIDRs", ())),
        docker_bridge=bridge,
        addresses_per_node=document.get("addressesPerNode", 1),
        reached=tuple(document.get(_REACHED, ())),
    )


def _is_entry(row: t.Any) -> bool:
    """Whether an entry of ``subnets`` has ``prefixes``, a list of texts, and as ``used``, if that is there, a whole
    number from 0."""
    return isinstance(row, Mapping) and _are_texts(row.get("prefixes")) and is_whole_number(row.get("used", 0), 0)


def _are_texts(value: t.Any) -> bool:
    """Whether it is a list of texts; an empty one is."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
