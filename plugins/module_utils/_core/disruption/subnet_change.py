# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Edits of ``vnetSubnetID`` of an AKSNodeClass, and whether the new subnet will do (CIDR ranges, free addresses,
routes): ``subnet-malformed``, ``subnet-migration-unsupported``, ``subnet-missing``, ``subnet-overlap``,
``subnet-too-small``, ``subnet-routes-unconfirmed``, ``invalid-cidr``.

Azure supports no move from one good subnet to another; the field can be changed to get away from one that is malformed
or does not exist.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from ..errors import FleetError
from ..values.listed import number_of
from .budgets.lint import (
    ERROR,
    NOTE,
    WARNING,
    Lint,
)

PATH = "spec.vnetSubnetID"
MIGRATION = "subnet-migration-unsupported"
ROUTES = "subnet-routes-unconfirmed"
# Azure keeps the first four addresses of a subnet and its last for itself.
RESERVED_ADDRESSES = 5
DOCKER_BRIDGE = "172.17.0.1/16"

_SUBNET_ID = re.compile(
    r"/subscriptions/[^/\s]+/resourceGroups/[\w().-]{0,89}[\w()-]/providers/Microsoft\.Network"
    r"/virtualNetworks/[^/\s]+/subnets/[^/\s]+",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A subnet of Azure: ``prefixes`` in CIDR form; ``used`` says how many addresses are taken besides Azure's own."""

    prefixes: tuple[str, ...]
    used: int = 0

    @property
    def free(self) -> int:
        """How many addresses nodes can still have: those of all prefixes without the five that Azure keeps of each (0
        for a smaller one), less those in use; negative if more are used. FleetError ``invalid-cidr``."""
        return sum(max(_range(each).num_addresses - RESERVED_ADDRESSES, 0) for each in self.prefixes) - self.used


@dataclass(frozen=True, kw_only=True)
class Network:
    """What is known of the cluster's network. ``subnets`` are those found, by Azure resource ID; None: nobody looked.
    ``reached`` are subnets whose routes somebody has probed. ``nodes`` are the most that may come to stand in the
    subnet; ``addresses_per_node`` is 1 where pods have addresses of an overlay, else 1 and the pods of a node. An empty
    ``docker_bridge`` is none."""

    subnets: t.Mapping[str, Subnet] | None = None
    pod_cidrs: tuple[str, ...] = ()
    service_cidrs: tuple[str, ...] = ()
    docker_bridge: str = DOCKER_BRIDGE
    nodes: int = 0
    addresses_per_node: int = 1
    reached: tuple[str, ...] = ()

    def find(self, subnet: str) -> Subnet | None:
        """The subnet of that Azure resource ID, capitals or not; None if unknown."""
        known = self.subnets or {}
        return next((each for name, each in known.items() if name.lower() == subnet.lower()), None)


def check_subnet_change(old: str, new: str, network: Network, override: bool = False) -> tuple[Lint, ...]:
    """Findings about an edit of ``vnetSubnetID`` from ``old`` to ``new``, an empty text for the cluster's own subnet;
    none if both are one, capitals or not. Errors are ``subnet-malformed``, which stands alone,
    ``subnet-migration-unsupported`` (unless ``old`` is malformed, or known to be missing; with ``override`` a warning),
    ``subnet-missing``, and, of a subnet that ``network`` has, ``subnet-overlap`` for each two ranges and
    ``subnet-too-small``, in this order; ``subnet-routes-unconfirmed``, last, is a note. FleetError ``invalid-cidr``."""
    if old.lower() == new.lower():
        return ()
    if new and not _is_subnet_id(new):
        text = f"{new!r:.120} is not the identity of a subnet: /subscriptions/.../virtualNetworks/.../subnets/..."
        return (Lint(code="subnet-malformed", level=ERROR, path=PATH, message=text),)
    reason = _broken(old, network)
    found = [] if reason else [_migration(old, new, override)]
    if new and network.subnets is not None and network.find(new) is None:
        found.append(Lint(code="subnet-missing", level=ERROR, path=PATH, message=f"there is no subnet {new}"))
    subnet = network.find(new)
    return (
        *found,
        *(_overlaps(subnet, network) if subnet else ()),
        *(_room(subnet, network) if subnet else ()),
        *_routes(new, network),
    )


def _broken(old: str, network: Network) -> str:
    """Why the old value is none that nodes can be made with; empty if it is good, or nobody knows."""
    if old and not _is_subnet_id(old):
        return "is malformed"
    missing = bool(old) and network.subnets is not None and network.find(old) is None
    return "does not exist" if missing else ""


def _is_subnet_id(text: str) -> bool:
    """Whether the text has the form of an Azure resource ID of a subnet, in any case; False for an empty one."""
    return _SUBNET_ID.fullmatch(text) is not None


def _migration(old: str, new: str, override: bool) -> Lint:
    """The finding about a move that is not supported: an error, or with ``override`` a warning."""
    text = (
        f"a move from {old or 'the subnet of the cluster'} to {new or 'the subnet of the cluster'} is not supported: "
        "the field may only be changed to get away from a subnet that is malformed or does not exist"
    )
    if override:
        text += "; allowed by an explicit override"
    return Lint(code=MIGRATION, level=WARNING if override else ERROR, path=PATH, message=text)


def range_problem(text: str) -> str:
    """What is wrong with a range of addresses in CIDR form, IPv4 or IPv6; empty if nothing is. Bits behind the prefix
    may be set."""
    try:
        _range(text)
    except FleetError as error:
        return error.message
    return ""


def _overlaps(subnet: Subnet, network: Network) -> t.Iterator[Lint]:
    """The error ``subnet-overlap`` for each prefix and each range of pods, services and the Docker bridge that it
    overlaps. FleetError ``invalid-cidr``."""
    ranges = [("the pod CIDR", each) for each in network.pod_cidrs]
    ranges += [("the service CIDR", each) for each in network.service_cidrs]
    ranges += [("the Docker bridge CIDR", network.docker_bridge)] if network.docker_bridge else []
    for prefix in subnet.prefixes:
        for name, other in ranges:
            if _overlap(prefix, other):
                text = f"the subnet {prefix} overlaps {name} {other}"
                yield Lint(code="subnet-overlap", level=ERROR, path=PATH, message=text)


def _overlap(one: str, other: str) -> bool:
    """Whether two ranges have an address in common; never across IPv4 and IPv6. FleetError ``invalid-cidr``."""
    left, right = _range(one), _range(other)
    if isinstance(left, IPv4Network):
        return isinstance(right, IPv4Network) and left.overlaps(right)
    return isinstance(right, IPv6Network) and left.overlaps(right)


def _range(text: str) -> IPv4Network | IPv6Network:
    """The range of addresses, bits behind the prefix dropped. FleetError ``invalid-cidr``."""
    try:
        return ip_network(text, strict=False)
    except ValueError as error:
        raise FleetError("invalid-cidr", str(error), PATH) from None


def _room(subnet: Subnet, network: Network) -> t.Iterator[Lint]:
    """The error ``subnet-too-small`` if all nodes that may come need more addresses than are free. FleetError
    ``invalid-cidr``."""
    wanted = network.nodes * network.addresses_per_node
    if subnet.free < wanted:
        free = f"{subnet.free} free {'address' if subnet.free == 1 else 'addresses'}"
        nodes = number_of(network.nodes, "node", "of the pool needs", "of the pool need")
        text = f"the subnet has {free}, and {nodes} {wanted}"
        yield Lint(code="subnet-too-small", level=ERROR, path=PATH, message=text)


def _routes(new: str, network: Network) -> t.Iterator[Lint]:
    """The note ``subnet-routes-unconfirmed`` about a new subnet that nobody has probed, for its routes cannot be seen
    from here; nothing for the cluster's own."""
    if new and new.lower() not in {each.lower() for each in network.reached}:
        text = "confirm that nodes of this subnet reach the API server and the image registries, and are reached back"
        yield Lint(code=ROUTES, level=NOTE, path=PATH, message=text)
