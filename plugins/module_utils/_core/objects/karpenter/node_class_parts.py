# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Finer parts of Karpenter's node classes, as their published definitions have them: reservations, interfaces and
placement groups of ``EC2NodeClass``, kernel parameters (sysctls), huge pages and name server (local DNS) of
``AKSNodeClass``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...schema.meta import EMPTY
from ...schema.prop import prop

SWITCH = ("enabled", "disabled")
# In terms no value may be empty; keys are for rules.
TERM_TAGS: dict[str, t.Any] = {"max_items": 20, "min_length": 1}
RESOURCE_ID: dict[str, t.Any] = {"form": "the id of such a resource"}
_LASTING: dict[str, t.Any] = {"pattern": r"([0-9]+(s|m|h))+", "form": "a duration such as 3600s"}
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
SIZE: dict[str, t.Any] = {"pattern": r"[0-9]+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)", "form": "a size such as 50Mi"}


@dataclass(frozen=True, kw_only=True)
class Ec2ReservationTerm:
    id: str | None = prop("Reservation.", default=None, pattern=r"cr-[0-9a-z]+", **RESOURCE_ID)
    instance_match_criteria: str | None = prop("Who may use it.", default=None, enum=("open", "targeted"))
    owner_id: str | None = prop(
        "Account.", json="ownerID", default=None, pattern=r"[0-9]{12}", form="an account of 12 digits"
    )
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, **TERM_TAGS)


@dataclass(frozen=True, kw_only=True)
class Ec2ConnectionTracking:
    tcp_established_timeout: int | None = prop("Seconds.", default=None, minimum=60, maximum=432000)
    udp_stream_timeout: int | None = prop("Seconds.", default=None, minimum=60, maximum=180)
    udp_timeout: int | None = prop("Seconds.", default=None, minimum=30, maximum=60)


@dataclass(frozen=True, kw_only=True)
class Ec2CpuOptions:
    nested_virtualization: str | None = prop("Virtual machines inside.", default=None, enum=SWITCH)


@dataclass(frozen=True, kw_only=True)
class Ec2NetworkInterface:
    device_index: int = prop("Place on the card.", minimum=0)
    interface_type: str = prop("Type.", enum=("interface", "efa-only"))
    network_card_index: int = prop("Card.", minimum=0)


@dataclass(frozen=True, kw_only=True)
class Ec2PlacementGroup:
    id: str | None = prop("Group.", default=None, pattern=r"pg-[0-9a-z]+", **RESOURCE_ID)
    name: str | None = prop("Name.", default=None, min_length=1)


def _setting(low: int, high: int, json: str | None = None) -> t.Any:
    """An optional field for a kernel parameter, a whole number from ``low`` to ``high``, both included; ``json`` is its
    name in manifests where it does not follow from that of the attribute."""
    return prop("Kernel parameter.", default=None, minimum=low, maximum=high, json=json)


@dataclass(frozen=True, kw_only=True)
class AksSysctls:
    fs_aio_max_nr: int | None = _setting(65536, 6553500)
    fs_file_max: int | None = _setting(8192, 12000500)
    fs_inotify_max_user_watches: int | None = _setting(781250, 2097152)
    fs_nr_open: int | None = _setting(8192, 20000500)
    kernel_threads_max: int | None = _setting(20, 513785)
    net_core_netdev_max_backlog: int | None = _setting(1000, 3240000)
    net_core_optmem_max: int | None = _setting(20480, 4194304)
    net_core_rmem_default: int | None = _setting(212992, 134217728)
    net_core_rmem_max: int | None = _setting(212992, 134217728)
    net_core_somaxconn: int | None = _setting(4096, 3240000)
    net_core_wmem_default: int | None = _setting(212992, 134217728)
    net_core_wmem_max: int | None = _setting(212992, 134217728)
    port_range: str | None = prop(
        "Ports.", json="netIPv4IPLocalPortRange", default=None, pattern=r"[0-9]+ [0-9]+", form="two ports"
    )
    neigh_thresh1: int | None = _setting(128, 80000, "netIPv4NeighDefaultGcThresh1")
    neigh_thresh2: int | None = _setting(512, 90000, "netIPv4NeighDefaultGcThresh2")
    neigh_thresh3: int | None = _setting(1024, 100000, "netIPv4NeighDefaultGcThresh3")
    tcp_fin_timeout: int | None = _setting(5, 120, "netIPv4TCPFinTimeout")
    tcp_keepalive_intvl: int | None = _setting(10, 90, "netIPv4TCPKeepaliveIntvl")
    tcp_keepalive_probes: int | None = _setting(1, 15, "netIPv4TCPKeepaliveProbes")
    tcp_keepalive_time: int | None = _setting(30, 432000, "netIPv4TCPKeepaliveTime")
    tcp_max_syn_backlog: int | None = _setting(128, 3240000, "netIPv4TCPMaxSynBacklog")
    tcp_max_tw_buckets: int | None = _setting(8000, 1440000, "netIPv4TCPMaxTwBuckets")
    tcp_tw_reuse: bool | None = prop("Kernel parameter.", json="netIPv4TCPTwReuse", default=None)
    net_netfilter_nf_conntrack_buckets: int | None = _setting(65536, 524288)
    net_netfilter_nf_conntrack_max: int | None = _setting(131072, 2097152)
    vm_max_map_count: int | None = _setting(65530, 262144)
    vm_swappiness: int | None = _setting(0, 100)
    vm_vfs_cache_pressure: int | None = _setting(0, 100)


@dataclass(frozen=True, kw_only=True)
class AksLinux:
    swap_file_size: str | None = prop("Size.", default=None, **SIZE)
    sysctls: AksSysctls | None = prop("Kernel parameters.", default=None)
    transparent_huge_page_defrag: str | None = prop(
        "Huge pages.", default=None, enum=("always", "defer", "defer+madvise", "madvise", "never")
    )
    transparent_huge_page_enabled: str | None = prop("Huge pages.", default=None, enum=("always", "madvise", "never"))


@dataclass(frozen=True, kw_only=True)
class AksDnsZone:
    cache_duration: str = prop("How long answers are kept.", **_LASTING)
    forward_destination: str = prop("Who is asked.", enum=("ClusterCoreDNS", "VnetDNS"))
    forward_policy: str = prop("In which order.", enum=("Sequential", "RoundRobin", "Random"))
    max_concurrent: int = prop("Questions at once.", minimum=0)
    protocol: str = prop("Protocol.", enum=("PreferUDP", "ForceTCP"))
    query_logging: str = prop("What is logged.", enum=("Error", "Log"))
    serve_stale: str = prop("Old answers.", enum=("Verify", "Immediate", "Disable"))
    serve_stale_duration: str = prop("How long old answers are kept.", **_LASTING)
    zone: str = prop(
        "Zone.",
        min_length=1,
        max_length=254,
        pattern=rf"\.|{_LABEL}(\.{_LABEL})*\.?",
        form="a zone such as . or example.com",
    )


@dataclass(frozen=True, kw_only=True)
class AksLocalDns:
    kube_dns_overrides: tuple[AksDnsZone, ...] = prop("Zones.", json="kubeDNSOverrides", max_items=100)
    mode: str = prop("Whether it runs.", enum=("Preferred", "Required", "Disabled"))
    vnet_dns_overrides: tuple[AksDnsZone, ...] = prop("Zones.", json="vnetDNSOverrides", max_items=100)
