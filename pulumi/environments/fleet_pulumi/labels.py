# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every object says which environment it belongs to."""

from __future__ import annotations

import typing as t

import pulumi

ENVIRONMENT = "gitops.fleet/environment"
_PREFIX = "kubernetes:"


def environment_labels(stack: str) -> dict[str, str]:
    """The label that objects of the stack's environment bear, with its value."""
    return {ENVIRONMENT: stack}


def labelled(document: t.Mapping[str, t.Any], stack: str) -> dict[str, t.Any]:
    """The document with the label of its environment; what labels it has may be known only later."""
    metadata, own = document["metadata"], environment_labels(stack)
    given = metadata.get("labels", {})
    later = isinstance(given, pulumi.Output)
    labels = given.apply(lambda known: {**known, **own}) if later else {**(given or {}), **own}
    return {**document, "metadata": {**metadata, "labels": labels}}


def label_everything(stack: str) -> None:
    """Registers a transformation that gives every Kubernetes object of the stack its label."""

    def transformed(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_PREFIX) or not isinstance(args.props.get("metadata"), dict):
            return None
        props = labelled(t.cast(t.Mapping[str, t.Any], args.props), stack)
        return pulumi.ResourceTransformationResult(props=props, opts=args.opts)

    pulumi.runtime.register_stack_transformation(transformed)
