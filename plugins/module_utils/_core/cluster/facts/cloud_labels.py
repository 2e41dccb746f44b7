# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Labels of a member that its nodes tell by ``spec.providerID`` and well-known labels: whose machines they are
(provider, account, subscription, resource group), and where (region, zone, location).

``spec.providerID`` is written by the cloud's own controller; AWS, Google and Azure document its form.
"""

from __future__ import annotations

import re
import typing as t

from ...objects.clusters.rules import SUBSCRIPTION
from ...objects.identity import Manifest
from ...values.parts import mapping, text, texts
from ...values.selector import label_value_problem

PROVIDER, ACCOUNT = "gitops.fleet/provider", "gitops.fleet/account"
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
AZURE_LOCATION, AZURE_GROUP = "fleet.azure.com/location", "fleet.azure.com/resource-group"
KEYS = (PROVIDER, ACCOUNT, REGION, ZONE, AZURE_LOCATION, AZURE_GROUP, SUBSCRIPTION)

# Zones of the region us-west-2: us-west-2a, the Local Zone us-west-2-lax-1a, of Wavelength us-west-2-wl1-den-wlz-1.
_AWS = re.compile(r"aws:///(?P<zone>(?P<region>[a-z]{2,}(-[a-z]+)+-[0-9]+)([a-z]|(-[a-z0-9]+)+-[0-9]+[a-z]?))/.+")
_GOOGLE = re.compile(r"gce://(?P<account>[^/]+)/(?P<zone>(?P<region>[a-z]+-[a-z]+[0-9]+)-[a-z])/[^/]+")
_AZURE = re.compile(
    r"azure:///subscriptions/(?P<account>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})/resourcegroups/(?P<group>[^/]+)/.+",
    re.IGNORECASE,
)
# AKS keeps the machines in a group of its own, called after group, name and location of the cluster.
_OF_AKS = re.compile(r"mc_(?P<group>[^_]+)_[^_]+_[^_]+", re.IGNORECASE)


def cloud_labels(nodes: t.Iterable[Manifest]) -> dict[str, str]:
    """The labels, of ``KEYS``, that all nodes tell alike whose provider ID is of a form that we know: one that some of
    these do not tell is left out, and so is what cannot be a label's value. ValueError for nodes whose parts are of
    other types than an API server's."""
    told = list(filter(None, map(_of_node, nodes)))
    found = {}
    for key in KEYS:
        values = {each.get(key, "") for each in told}
        value = values.pop() if len(values) == 1 else ""
        if value and label_value_problem(value) is None:
            found[key] = value
    return found


def _of_node(node: Manifest) -> dict[str, str]:
    """What one node tells, by label key: region and zone by its labels, else by its provider ID, which tells the rest;
    as of ``_of_azure`` for Azure; empty where the form of that ID is not known. ValueError for parts of other types
    than an API server's."""
    given, labels = text(mapping(node, "spec"), "providerID"), texts(mapping(node, "metadata"), "labels")
    if match := _AWS.fullmatch(given):
        found = {PROVIDER: "aws"}
    elif match := _GOOGLE.fullmatch(given):
        found = {PROVIDER: "gce", ACCOUNT: match["account"]}
    elif match := _AZURE.fullmatch(given):
        return {PROVIDER: "azure", **_of_azure(match["account"], match["group"], labels)}
    else:
        return {}
    return {**found, REGION: labels.get(REGION, match["region"]), ZONE: labels.get(ZONE, match["zone"])}


def _of_azure(subscription: str, group: str, labels: t.Mapping[str, str]) -> dict[str, str]:
    """Region, zone, location, resource group and subscription by label key; empty texts for what is not told, and for a
    zone that is none of the region. The group is that of the AKS cluster, where a name of AKS for its machines tells
    it."""
    region, zone = labels.get(REGION, ""), labels.get(ZONE, "")
    of_aks = _OF_AKS.fullmatch(group)
    if of_aks:
        group = of_aks["group"]
    elif group.lower().startswith("mc_"):  # parts with a '_' of their own cannot be told apart
        group = ""
    # A machine outside of zones has a number of its own there.
    return {
        REGION: region,
        ZONE: zone if region and zone.startswith(f"{region}-") else "",
        AZURE_LOCATION: region,
        AZURE_GROUP: group,
        SUBSCRIPTION: subscription.lower(),
    }
