# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds that are kept as records (else ``unknown-kind``), and under which API version; names of records
(``namespace/name``), and what can be one.

Envelopes are no records, but resources to place.
"""

from __future__ import annotations

import re
import typing as t

from .._core.errors import FleetError
from .._core.objects.kinds import KIND_OF
from .._core.objects.kinds import KINDS as KNOWN
from .._core.values.selector import DNS_LABEL, DNS_SUBDOMAIN
from .._kube.paths import Resource

# Resources to place, which lie on the hub without being records.
_PLACED = ("ClusterResourceEnvelope", "ResourceEnvelope")


def resource_of(kind: str) -> Resource:
    """How an API server with our definitions serves the kind, which is one of ours; KeyError for another."""
    found = KIND_OF[kind]
    return Resource(found.group, found.stored, found.kind, found.plural, found.namespaced)


KINDS: t.Mapping[str, Resource] = {each.kind: resource_of(each.kind) for each in KNOWN if each.kind not in _PLACED}
ALL_OF_THEM = "leave the namespace out to list all of the kind"
_LABEL, _SUBDOMAIN = re.compile(DNS_LABEL), re.compile(DNS_SUBDOMAIN)


def stored_resource(kind: str) -> Resource:
    """Where records of this kind are kept. FleetError ``unknown-kind``, also for Secrets, which are never records."""
    if kind not in KINDS:
        raise FleetError(
            "unknown-kind",
            f"{kind or 'an object without kind'} is not kept as a record",
            hint=f"records are {', '.join(KINDS)}",
        )
    return KINDS[kind]


def listed_resource(kind: str, namespace: str) -> Resource:
    """As ``stored_resource``, for a list of what lies in the namespace, or of all without one. FleetError ``invalid``
    for a namespace of a kind that has none."""
    found = stored_resource(kind)
    if namespace and not found.namespaced:
        raise FleetError("invalid", f"{kind} lies in no namespace, and {namespace!r:.80} was given", kind, ALL_OF_THEM)
    return found


def stored_version(record: t.Mapping[str, t.Any]) -> str:
    """The API version under which the record is kept, in whichever of the kind's versions it is written. FleetError
    ``unknown-kind``, also for an API version that the kind does not have."""
    kind, version = str(record.get("kind", "")), str(record.get("apiVersion", ""))
    kept = stored_resource(kind).api_version
    if version not in KIND_OF[kind].api_versions:
        raise FleetError("unknown-kind", f"{kind} has no API version {version!r}", hint=f"write {kept}")
    return kept


def is_name(name: str) -> bool:
    """Whether this is a DNS subdomain of at most 253 characters (RFC 1123), as names of all our kinds are."""
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def is_label(name: str) -> bool:
    """Whether this is a DNS label (RFC 1123), as names of namespaces are."""
    return len(name) <= 63 and _LABEL.fullmatch(name) is not None


def record_name(record: t.Mapping[str, t.Any]) -> str:
    """``name``, or ``namespace/name`` of a record with a namespace: what it is called among those of its kind; empty
    without a name. Its metadata, if there is any, is a map."""
    metadata = record.get("metadata") or {}
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return f"{namespace}/{name}" if namespace and name else name


def namespace_and_name(kind: str, name: str) -> tuple[str, str] | None:
    """Where a record of this name lies, the namespace empty for a cluster-scoped kind; None where none of the kind can
    be called so. FleetError ``unknown-kind``."""
    namespace, slash, own = name.rpartition("/")
    if bool(slash) != stored_resource(kind).namespaced or not is_name(own):
        return None
    return (namespace, own) if not slash or is_label(namespace) else None
