# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._kube.paths import BUILT_IN, Resource
from ..module_utils._kube.rbac import Subject, apply_manifests, read_only_manifests
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """The smallest set of rights for one purpose, as manifests."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        subject = Subject(options["subject"]["kind"], options["subject"]["name"], options["subject"]["namespace"] or "")
        kinds = [_resource(each) for each in options["kinds"]]
        make = apply_manifests if options["purpose"] == "apply" else read_only_manifests
        return Answer(changed=False, data={"manifests": [dict(each) for each in make(subject, kinds)]})


def _resource(each: dict[str, t.Any]) -> Resource:
    known = BUILT_IN.get((each["api_version"], each["kind"]))
    if known:
        return known
    if not each["plural"]:
        raise FleetError(
            "unknown-kind",
            f"{each['kind']} in {each['api_version']} is not a kind of Kubernetes itself",
            "kinds",
            "give its plural and whether it is namespaced",
        )
    group, _slash, version = each["api_version"].rpartition("/")
    return Resource(group, version, each["kind"], each["plural"], bool(each["namespaced"]))
