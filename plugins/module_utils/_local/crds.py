# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""CustomResourceDefinitions (CRDs) that Karpenter brings along, applied to a local cluster's API server before it
starts, and whether that serves them yet (``missing-crds``)."""

from __future__ import annotations

import typing as t
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

from .._core.errors import FleetError
from .._kube.apply import apply_object
from .._kube.client import KubeClient
from .._kube.errors import ApiError

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def apply_definitions(client: KubeClient, files: t.Sequence[Path]) -> tuple[str, ...]:
    """Applies the one definition in each file, by force, once all are read; gives their names in the order of the
    files. FleetError ``missing-crds`` without files, or without the package PyYAML; errors as of ``apply_object``,
    after which those before stay applied; OSError, UnicodeDecodeError or YAMLError for a file that cannot be read."""
    if not files or yaml is None:
        hint = "they come along in the module: crds/*/*.yaml beside the binary; reading them takes the package PyYAML"
        raise FleetError("missing-crds", "no CustomResourceDefinitions were found for karpenter", hint=hint)
    found = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    for definition in found:
        apply_object(client, definition, force=True)
    return tuple(str(definition["metadata"]["name"]) for definition in found)


def not_served(client: KubeClient, names: t.Iterable[str]) -> str:
    """Which of them the API server does not serve yet, or does not answer about, in words; empty once it serves all.
    FleetErrors that are no ApiError are raised."""
    waiting = [name for name in names if not _established(client, name)]
    return f"{', '.join(waiting)} {'were' if len(waiting) > 1 else 'was'} not served" if waiting else ""


def _established(client: KubeClient, name: str) -> bool:
    """Whether the definition's condition ``Established`` is True; False also for an ApiError; other FleetErrors are
    raised."""
    try:
        found = client.get(f"{_DEFINITIONS}/{name}")
    except ApiError:
        return False
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
