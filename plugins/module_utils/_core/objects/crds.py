# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""CustomResourceDefinitions made from the dataclasses of the kinds, with names, versions, printer columns and CEL rules
on the whole object and its name: ``python -m ...objects.crds [FOLDER]`` writes one file per kind."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

from ..schema.openapi import schema_of
from .columns import Column
from .kinds import KINDS, Kind

FOLDER = "roles/hub/files/crds"
MANAGED_BY = ("app.kubernetes.io/managed-by", "gitops.fleet")


def definition(kind: Kind) -> dict[str, t.Any]:
    """The CustomResourceDefinition of a kind, as plain data. All its versions are served and have one schema, so that
    none needs conversion."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": dict([MANAGED_BY])},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": _names(kind),
            "conversion": {"strategy": "None"},
            "versions": [_version(kind, version) for version in kind.versions],
        },
    }


def definition_text(kind: Kind) -> str:
    """The content of a kind's file: its definition in indented JSON, which ``kubectl apply`` takes like YAML."""
    return json.dumps(definition(kind), indent=2) + "\n"


def file_name(kind: Kind) -> str:
    """The name of the file that holds the kind's definition: group and plural, which no other kind has."""
    return f"{kind.group}_{kind.plural}.json"


def _names(kind: Kind) -> dict[str, t.Any]:
    """``spec.names`` of the definition; without ``shortNames`` for a kind that has none."""
    names: dict[str, t.Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "categories": ["fleet"],
    }
    return names | ({"shortNames": list(kind.short_names)} if kind.short_names else {})


def _version(kind: Kind, version: str) -> dict[str, t.Any]:
    """The item of ``spec.versions`` for one version: served, with a status subresource, stored if it is the kind's
    stored one; without printer columns for a kind that has none."""
    out = {
        "name": version,
        "served": True,
        "storage": version == kind.stored,
        "schema": {"openAPIV3Schema": _schema(kind)},
        "subresources": {"status": {}},
    }
    columns = [_column(each) for each in kind.columns]
    return out | ({"additionalPrinterColumns": columns} if columns else {})


def _schema(kind: Kind) -> dict[str, t.Any]:
    """The OpenAPI schema of a kind, with its description and its CEL rules, those on the name first. ``metadata`` is
    not among the required fields: a server has it anyway."""
    out = {"description": kind.doc, **schema_of(kind.cls)}
    out["required"] = [each for each in out["required"] if each != "metadata"]
    if not out["required"]:
        del out["required"]
    rules = [{"rule": rule, "message": message} for rule, message in (*_name_rules(kind), *kind.rules)]
    if rules:
        out["x-kubernetes-validations"] = rules
    return out


def _name_rules(kind: Kind) -> t.Iterator[tuple[str, str]]:
    """CEL rules and their messages on length and form of ``metadata.name``; none for what the kind does not limit."""
    if kind.name_limit is not None:
        limit = kind.name_limit
        yield f"size(self.metadata.name) <= {limit}", f"metadata.name has at most {limit} characters"
    if kind.name_pattern:
        yield f"self.metadata.name.matches('{kind.name_pattern}')", f"metadata.name is {kind.name_form}"


def _column(column: Column) -> dict[str, t.Any]:
    """The item of ``additionalPrinterColumns`` for a column; one for ``-o wide`` only has priority 1."""
    out: dict[str, t.Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return out | ({"priority": 1} if column.wide else {})


def main(arguments: t.Sequence[str]) -> int:
    """Writes the definitions of all kinds to the folder that is the first argument, ``roles/hub/files/crds`` without
    one; it is made if need be, and other files in it stay. Returns 0. OSError as of writing."""
    folder = Path(arguments[0] if arguments else FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        (folder / file_name(kind)).write_text(definition_text(kind), encoding="utf-8")
    print(f"{len(KINDS)} definitions written to {folder}")  # pylint: disable=ansible-bad-function  # a command
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))  # pylint: disable=ansible-bad-function  # a command
