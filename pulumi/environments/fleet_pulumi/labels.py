# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every object says which environment it belongs to."""

from __future__ import annotations

import typing as t

import pulumi

ENVIRONMENT = "gitops.fleet/environment"
_PREFIX = "kubernetes:"


def label_everything(stack: str) -> None:
    """A transformation of the whole stack, so that no resource is forgotten."""

    def labelled(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        metadata: t.Any = args.props.get("metadata")
        if not args.type_.startswith(_PREFIX) or not isinstance(metadata, dict):
            return None
        labels = {**(metadata.get("labels") or {}), ENVIRONMENT: stack}
        props = {**args.props, "metadata": {**metadata, "labels": labels}}
        return pulumi.ResourceTransformationResult(props=props, opts=args.opts)

    pulumi.runtime.register_stack_transformation(labelled)
