# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules over several fields of Karpenter's node classes, as their published definitions say them in CEL:
``EC2NodeClass`` (role, images, terms, disks, kubelet, interfaces), ``AKSNodeClass`` (FIPS, swap, kernel parameters, DNS
zones), image thresholds and tags of both."""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from collections.abc import Mapping

from ...schema.rules import Found
from ...values.field_path import field
from ...values.int_or_percent import int64

Spec = Mapping[str, t.Any]
TERMS = (
    ("amiSelectorTerms", ("alias", "id", "name", "ssmParameter", "tags")),
    ("capacityReservationSelectorTerms", ("id", "instanceMatchCriteria", "tags")),
    ("securityGroupSelectorTerms", ("id", "name", "tags")),
    ("subnetSelectorTerms", ("id", "tags")),
)
# A list of terms, the field of a term that stands alone, and what it excludes.
ALONE = (
    ("capacityReservationSelectorTerms", "id", ("tags", "ownerID", "instanceMatchCriteria")),
    ("securityGroupSelectorTerms", "id", ("tags", "name")),
    ("securityGroupSelectorTerms", "name", ("tags", "id")),
    ("subnetSelectorTerms", "id", ("tags",)),
)
_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
# Maps of the kubelet, and their keys.
KUBELET_KEYS = (
    ("evictionHard", _SIGNALS),
    ("evictionSoft", _SIGNALS),
    ("evictionSoftGracePeriod", _SIGNALS),
    ("kubeReserved", _RESERVABLE),
    ("systemReserved", _RESERVABLE),
)
KEPT_TAGS = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
KEPT_TAGS_BEGIN = "kubernetes.io/cluster"
SYSCTLS = "spec.linuxOSConfig.sysctls"
_IN_ORDER = (
    ("netCoreRmemDefault", "netCoreRmemMax"),
    ("netCoreWmemDefault", "netCoreWmemMax"),
    ("netIPv4NeighDefaultGcThresh1", "netIPv4NeighDefaultGcThresh2"),
    ("netIPv4NeighDefaultGcThresh2", "netIPv4NeighDefaultGcThresh3"),
)
MAX_TAG_KEY = 512
NOT_IN_TAG_KEYS = "<>%&?\\"
CLUSTER_ZONE = "cluster.local"


def check_ec2(spec: Spec) -> t.Iterator[Found]:
    """What is wrong by the published definition over several fields of the ``spec`` of an EC2NodeClass, which
    ``check_object`` has freed of what is wrong in itself: ``role-or-profile``, ``missing-field``, ``alias-alone``,
    ``alias-of-another-family``, ``empty-term``, ``id-alone``, ``name-alone``, ``empty-tag``, ``restricted-tag``,
    ``two-root-volumes``, ``not-one-of``, ``no-primary-interface``, ``duplicate-interface``, ``name-or-id`` and
    ``threshold-order``."""
    if ("role" in spec) == ("instanceProfile" in spec):
        hint = "write role" if "role" not in spec else "keep one of them"
        yield Found("role-or-profile", "spec", "exactly one of role and instanceProfile is wanted", hint)
    yield from _check_images(spec)
    for name, keys in TERMS:
        for index, term in enumerate(_rows(spec, name)):
            if not any(key in term for key in keys):
                yield Found("empty-term", f"spec.{name}[{index}]", f"one of {', '.join(keys)} is wanted here")
            yield from _check_tag_keys(term, f"spec.{name}[{index}].tags")
    yield from _check_alone(spec)
    yield from _check_disks(_rows(spec, "blockDeviceMappings"))
    yield from _check_kubelet(spec.get("kubelet"))
    yield from _check_kept_tags(spec)
    yield from _check_interfaces(_rows(spec, "networkInterfaces"))
    tracking, group = spec.get("connectionTracking"), spec.get("placementGroupSelector")
    if isinstance(tracking, Mapping) and not tracking:
        yield Found("empty-term", "spec.connectionTracking", "one of the timeouts is wanted here")
    if isinstance(group, Mapping) and ("name" in group) == ("id" in group):
        yield Found("name-or-id", "spec.placementGroupSelector", "exactly one of name and id is wanted")
    yield from _check_thresholds(spec)


def _check_images(spec: Spec) -> t.Iterator[Found]:
    """``missing-field`` if there are image terms, none with an alias, and no ``amiFamily``; else ``alias-alone``
    (beside another term, or id, tags, name or owner), or ``alias-of-another-family`` than ``amiFamily``, unless that is
    Custom. ``id-alone`` for each term with an ``id`` beside tags, name or owner."""
    images = _rows(spec, "amiSelectorTerms")
    aliased = [each for each in images if each.get("alias")]
    family = spec.get("amiFamily")
    if images and not aliased and family is None:
        text = "amiFamily is needed where no term has an alias"
        yield Found("missing-field", "spec.amiFamily", text, "write an alias such as al2023@latest")
    if aliased and (len(images) > 1 or aliased[0].keys() & {"id", "tags", "name", "owner"}):
        yield Found("alias-alone", "spec.amiSelectorTerms", "an alias stands alone, without other fields and terms")
    elif aliased and isinstance(family, str) and family != "Custom":
        alias = str(aliased[0]["alias"]).partition("@")[0]
        if alias != family.lower():
            text = f"the alias is of the family {alias}, and not of {family}"
            yield Found("alias-of-another-family", "spec.amiFamily", text, "take it out, or write Custom")

    for index, each in enumerate(images):
        if "id" in each and each.keys() & {"tags", "name", "owner"}:
            text = "an id stands alone, without tags, name and owner"
            yield Found("id-alone", f"spec.amiSelectorTerms[{index}]", text, "write the others as terms of their own")


def _check_alone(spec: Spec) -> t.Iterator[Found]:
    """``id-alone`` or ``name-alone`` if every term of a list has that field beside others; as in the published
    definition, one term without such a fault lets all pass. Each list is told of once."""
    told: set[str] = set()
    for name, alone, others in ALONE:
        terms = _rows(spec, name)
        if terms and name not in told and all(alone in each and each.keys() & set(others) for each in terms):
            told.add(name)
            text = f"{'an' if alone == 'id' else 'a'} {alone} stands alone, without other fields"
            yield Found(f"{alone}-alone", f"spec.{name}", text, "write the others as terms of their own")


def _check_tag_keys(holder: Spec, path: str) -> t.Iterator[Found]:
    """``empty-tag`` if ``tags`` of the class, or of a term, have an empty key; ``path`` is that of the tags."""
    tags = holder.get("tags")
    if isinstance(tags, Mapping) and "" in tags:
        yield Found("empty-tag", f"{path}[]", "a tag has a key")


def _check_kept_tags(spec: Spec) -> t.Iterator[Found]:
    """``empty-tag``, and ``restricted-tag`` for each tag of the class that the provider sets itself."""
    yield from _check_tag_keys(spec, "spec.tags")
    for key in spec.get("tags") or ():
        if key in KEPT_TAGS or key.startswith(KEPT_TAGS_BEGIN):
            yield Found("restricted-tag", f"spec.tags[{key}]", f"{key:.80} is set by Karpenter itself", "leave it out")


def _check_disks(disks: t.Sequence[Spec]) -> t.Iterator[Found]:
    """``two-root-volumes``, and ``missing-field`` for each volume with neither a snapshot nor a size, or with a rate of
    initialization and no snapshot."""
    roots = [index for index, each in enumerate(disks) if each.get("rootVolume") is True]
    if len(roots) > 1:
        text = f"{len(roots)} of them are the root volume, and there is one at most"
        yield Found("two-root-volumes", "spec.blockDeviceMappings", text, "take rootVolume from the others")
    for index, each in enumerate(disks):
        volume, path = each.get("ebs"), f"spec.blockDeviceMappings[{index}].ebs"
        if not isinstance(volume, Mapping):
            continue
        if "snapshotID" not in volume and "volumeSize" not in volume:
            yield Found("missing-field", path, "a volume has a snapshotID or a volumeSize", "write volumeSize: 100Gi")
        if "volumeInitializationRate" in volume and not volume.get("snapshotID"):
            text = "without a snapshot there is nothing that volumeInitializationRate could be of"
            yield Found("missing-field", f"{path}.snapshotID", text, "name the snapshot, or leave the rate out")


def _check_kubelet(kubelet: t.Any) -> t.Iterator[Found]:
    """``not-one-of`` for each key of a map in ``KUBELET_KEYS`` that it cannot have; ``missing-field`` for each soft
    eviction signal without its grace period, and the other way round. Nothing if it is no mapping."""
    if not isinstance(kubelet, Mapping):
        return
    for name, known in KUBELET_KEYS:
        for key in kubelet.get(name) or ():
            if key not in known:
                yield Found(
                    "not-one-of", f"spec.kubelet.{name}[{key}]", f"{key!r:.60} is not one of {', '.join(known)}"
                )
    soft, grace = "evictionSoft", "evictionSoftGracePeriod"
    for name, other in ((soft, grace), (grace, soft)):
        for key in kubelet.get(name) or ():
            if key in _SIGNALS and key not in (kubelet.get(other) or ()):
                yield Found("missing-field", f"spec.kubelet.{other}[{key}]", f"{key} stands in {name}, and not here")


def _check_interfaces(rows: t.Sequence[Spec]) -> t.Iterator[Found]:
    """``no-primary-interface`` if none is of type interface with both its indexes 0, and ``duplicate-interface`` for
    each place on a card that is taken more than once and each card with several interfaces of type efa-only; nothing
    without interfaces."""
    path = "spec.networkInterfaces"
    places = [(each.get("networkCardIndex"), each.get("deviceIndex")) for each in rows]
    first = ((0, 0), "interface")
    if rows and first not in [(place, each.get("interfaceType")) for place, each in zip(places, rows, strict=True)]:
        text = "one of them has the type interface and both its indexes 0"
        yield Found("no-primary-interface", path, text)
    for place, count in Counter(places).items():
        if count > 1:
            yield Found("duplicate-interface", path, f"card {place[0]} has {count} interfaces at place {place[1]}")
    efa = Counter(each.get("networkCardIndex") for each in rows if each.get("interfaceType") == "efa-only")
    for card, count in efa.items():
        if count > 1:
            yield Found("duplicate-interface", path, f"card {card} has {count} interfaces of type efa-only")


def check_aks(spec: Spec) -> t.Iterator[Found]:
    """What is wrong by the published definition over several fields of the ``spec`` of an AKSNodeClass, which
    ``check_object`` has freed of what is wrong in itself: ``no-such-fips``, ``swap-refused``, ``threshold-order``,
    ``wrong-form`` and ``wrong-length`` (of keys of tags), ``port-range``, ``dns-zones``, ``duplicate-value``,
    ``dns-forward`` and ``stale-over-tcp``. Without ``imageFamily`` it is Ubuntu, as an API server has it."""
    family = spec.get("imageFamily") or "Ubuntu"
    trusted = field(spec, "security.trustedLaunch") or {}
    launched = isinstance(trusted, Mapping) and (trusted.get("vtpm") is True or trusted.get("secureBoot") is True)
    if spec.get("fipsMode") == "FIPS":
        if family == "Ubuntu2404":
            yield Found("no-such-fips", "spec.fipsMode", f"FIPS is not there for {family}")
        elif family == "Ubuntu2204" and not launched:
            text = "FIPS is there for Ubuntu2204 with trusted launch only"
            yield Found("no-such-fips", "spec.fipsMode", text, "set vtpm or secureBoot in security.trustedLaunch")
        elif launched and family not in ("Ubuntu", "Ubuntu2204"):
            yield Found("no-such-fips", "spec.fipsMode", f"FIPS with trusted launch is not there for {family}")
    if field(spec, "linuxOSConfig.swapFileSize") and field(spec, "kubelet.failSwapOn") is not False:
        path = "spec.linuxOSConfig.swapFileSize"
        yield Found("swap-refused", path, "the kubelet refuses swap", "write kubelet.failSwapOn: false")
    yield from _check_thresholds(spec)
    yield from _check_azure_tags(spec)
    yield from _check_sysctls(field(spec, "linuxOSConfig.sysctls"))
    for name in ("kubeDNSOverrides", "vnetDNSOverrides"):
        local = spec.get("localDNS")
        if isinstance(local, Mapping) and name in local:
            yield from _check_zones(_rows(local, name), f"spec.localDNS.{name}", name == "vnetDNSOverrides")


def _check_azure_tags(spec: Spec) -> t.Iterator[Found]:
    """``wrong-length`` for each key of a tag with more than 512 characters, ``wrong-form`` for one with a character
    that Azure takes in none."""
    for key in spec.get("tags") or ():
        if len(key) > MAX_TAG_KEY:
            text = f"a key of {len(key)} characters, at most {MAX_TAG_KEY} are allowed"
            yield Found("wrong-length", f"spec.tags[{key:.60}]", text)
        if set(key) & set(NOT_IN_TAG_KEYS):
            text = f"the key {key!r:.60} has one of {' '.join(NOT_IN_TAG_KEYS)}"
            yield Found("wrong-form", f"spec.tags[{key:.60}]", text, "write the key without it")


def _check_sysctls(sysctls: t.Any) -> t.Iterator[Found]:
    """``threshold-order`` for each pair of kernel parameters of which the lower is the larger, and ``port-range``.
    Nothing if they are no mapping, and for what is no whole number or not two ports."""
    if not isinstance(sysctls, Mapping):
        return
    for low, high in _IN_ORDER:
        small, large = sysctls.get(low), sysctls.get(high)
        if isinstance(small, int) and isinstance(large, int) and small > large:
            yield Found("threshold-order", f"{SYSCTLS}.{low}", f"{small} is above {high}, {large}")
    ports = sysctls.get("netIPv4IPLocalPortRange")
    if isinstance(ports, str) and re.fullmatch(r"[0-9]+ [0-9]+", ports) and not _is_port_range(*ports.split(" ")):
        text = "the first port is 1024 to 60999, the last one 32768 to 65535 and not below the first"
        yield Found("port-range", f"{SYSCTLS}.netIPv4IPLocalPortRange", text)


def _is_port_range(first: str, last: str) -> bool:
    """Whether the first port, in digits, is 1024 to 60999, and the last 32768 to 65535 and not below it."""
    low, high = int64(first) or 0, int64(last) or 0
    return 1024 <= low <= 60999 and 32768 <= high <= 65535 and low <= high


def _check_zones(zones: t.Sequence[Spec], path: str, of_vnet: bool) -> t.Iterator[Found]:
    """``dns-zones`` if ``.`` or ``cluster.local`` is missing, ``duplicate-value`` for each zone that stands more than
    once, then by zone ``dns-forward`` (a name that ends with ``cluster.local`` to VnetDNS; another to ClusterCoreDNS,
    in overrides of the virtual network, ``of_vnet``, alone) and ``stale-over-tcp``."""
    names = [str(each.get("zone")) for each in zones]
    lacking = [each for each in (".", CLUSTER_ZONE) if each not in names]
    if lacking:
        yield Found("dns-zones", path, f"the zones . and {CLUSTER_ZONE} are wanted; {', '.join(lacking)} is missing")
    for name, count in Counter(names).items():
        if count > 1:
            yield Found("duplicate-value", path, f"the zone {name} stands {count} times")
    for index, each in enumerate(zones):
        here, to = f"{path}[{index}]", each.get("forwardDestination")
        of_cluster = names[index].endswith(CLUSTER_ZONE)
        if of_cluster and to == "VnetDNS":
            yield Found("dns-forward", f"{here}.forwardDestination", f"{CLUSTER_ZONE} is known to ClusterCoreDNS alone")
        if of_vnet and not of_cluster and to == "ClusterCoreDNS":
            text = f"{names[index]} is not known to ClusterCoreDNS"
            yield Found("dns-forward", f"{here}.forwardDestination", text)
        if each.get("serveStale") == "Verify" and each.get("protocol") == "ForceTCP":
            yield Found("stale-over-tcp", f"{here}.serveStale", "Verify is not possible with ForceTCP")


def _check_thresholds(spec: Spec) -> t.Iterator[Found]:
    """``threshold-order`` if the kubelet's high threshold for images is not above the low one; nothing unless both are
    whole numbers."""
    high, low = (field(spec, f"kubelet.imageGC{name}ThresholdPercent") for name in ("High", "Low"))
    if isinstance(high, int) and isinstance(low, int) and high <= low:
        path = "spec.kubelet.imageGCHighThresholdPercent"
        yield Found("threshold-order", path, f"{high} is not above imageGCLowThresholdPercent, {low}")


def _rows(spec: Spec, name: str) -> list[Spec]:
    """The mappings in the list of that name, in order; empty where it is absent. What is no list, ``check_object`` has
    taken out before."""
    return [each for each in spec.get(name) or () if isinstance(each, Mapping)]
