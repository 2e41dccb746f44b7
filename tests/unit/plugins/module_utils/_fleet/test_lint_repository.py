# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A whole repository is linted without noise: what is not ours is counted, and what is known can be silenced."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import lint as linting
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.lint import Linted, lint
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import placements_in
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.findings import findings_summary
from ansible_collections.gitops.fleet.plugins.module_utils._store.documents_in_files import documents_of, read_documents
from ansible_collections.gitops.fleet.plugins.module_utils._store.excluded import Excluded
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import read_manifests

NOW = datetime(2026, 11, 2, tzinfo=UTC)
PLACEMENT = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: web}]
  policy: {placementType: PickSome}
"""
FOREIGN = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/values.yaml": "image: {tag: x}\nspec: {replicas: 2}\nnodes: 3\n",
    "chart/templates/web.yaml": "{{- if .on }}\napiVersion: apps/v1\nkind: Deployment\nspec: {{ .x | y }}\n{{ end }}",
    "chart/templates/pool.yaml": "{{- range .pools }}\napiVersion: karpenter.sh/v1\nkind: NodePool\n{{- end }}\n",
    "chart/templates/two.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n---\n{{ if .x }}\nkind: {{ .k }}\n",
    "compose.yaml": "services: {web: {image: x, deploy: {budgets: 2}}}\n",
    "mkdocs.yml": "nav: []\nextra: !!python/name:material.x\nkind: site\n",
    "site.yml": "- hosts: all\n  tasks: [{debug: {msg: stages}}]\n",
    ".gitlab-ci.yml": "stages: [build, test]\n",
    "pipeline.yml": "stages:\n- stage: Build\n  jobs: []\n- name: x\n  jobs: []\n",
    "cloud.yml": "Resources:\n  Queue: {Type: 'AWS::SQS', Properties: {kind: !Ref X, Tags: !GetAtt a.b}}\n",
    "budget.yml": "budgets: [{name: team, amount: 5}]\n",
    "empty.yml": "# nothing\n",
    "package.json": '{"name": "x", "kind": "lib", "stages": {"a": 1}}',
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def codes(linted: Linted) -> list[str]:
    return [each.code for each in linted.remarks]


def test_what_is_not_ours_is_counted_and_nothing_else(tmp_path: Path):
    write(tmp_path, {**FOREIGN, "fleet/web.yaml": PLACEMENT})
    found = lint([str(tmp_path)], NOW)
    assert codes(found) == ["not-one-of"]
    assert (found.documents, found.checked, found.passed_over) == (1, 1, len(FOREIGN))
    assert findings_summary(found.remarks, 1, 1, found.passed_over).endswith("; 14 other files passed over")


def test_what_verbs_write_beside_manifests_is_passed_over(tmp_path: Path):
    member = '{"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster"}'
    pool = '{"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}'
    files = {
        "facts.json": f'{{"schema": 1, "capturedAt": "2026-01-01T00:00:00Z", "members": [{member}]}}',
        "nodes.json": f'{{"schema": 1, "kind": "nodes", "members": [{{"objects": {{"NodePool": [{pool}]}}}}]}}',
        "lint.json": f'{{"findings": [], "mended": [{{"document": {pool}}}]}}',
    }
    write(tmp_path, files)
    found = lint([str(tmp_path)], NOW)
    assert (codes(found), found.passed_over) == ([], 3)
    write(tmp_path, {"facts.json": files["facts.json"][:-1], "pool.json": pool})
    found = lint([str(tmp_path)], NOW)
    assert codes(found)[0] == "bad-yaml" and "missing-field" in codes(found), "a broken file, and a manifest, are not"


@pytest.mark.parametrize("name", sorted(FOREIGN.keys() - {"empty.yml", "chart/values.yaml"}))
def test_a_file_that_is_named_is_judged_whatever_it_is(name: str, tmp_path: Path):
    write(tmp_path, FOREIGN)
    found = lint([str(tmp_path / name)], NOW)
    assert found.passed_over == 0
    assert codes(found) or name == ".gitlab-ci.yml" or found.documents


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: [\n",
        "apiVersion: 'placement.kubernetes-fleet.io/v1'\n\tkind: x\n",
        '{"apiVersion": "gitops.fleet/v1alpha1", "kind": "Gate"',
        "kind: ClusterResourcePlacement\nspec: {}\n",
        "apiVersion: karpenter.sh/v1\nspec: {}\n",
        "name: x\n---\n" + PLACEMENT,
    ],
)
def test_what_was_to_be_ours_is_told_in_a_folder_too(text: str, tmp_path: Path):
    write(tmp_path, {"a.yaml": text})
    assert codes(lint([str(tmp_path)], NOW))


@pytest.mark.parametrize(
    "text",
    [
        "spec: {disruption: {budgets: [{nodes: 5}]}, limits: {cpu: 1}}\n",
        "disruption: {expireAfter: 5h}\n",
        "budgets: [{nodes: 5}]\n",
        "- {nodes: 5}\n- {schedule: '@daily', duration: 5h}\n",
        '{"properties": {"strategy": {"stages": [{"name": "a", "groups": [{"name": "a b"}]}]}}}\n',
    ],
)
def test_what_nothing_else_looks_like_is_read_in_a_folder_too(text: str, tmp_path: Path):
    write(tmp_path, {"a.yaml": text})
    found = lint([str(tmp_path)], NOW)
    assert found.remarks and found.checked == 1


def test_excluded_files_are_not_read(tmp_path: Path):
    write(tmp_path, {"a/web.yaml": PLACEMENT, "b/web.yaml": PLACEMENT, "b/c/web.yaml": PLACEMENT, "d.yaml": PLACEMENT})
    ignoring = tmp_path / ".fleetlintignore"
    ignoring.write_text("# old ones\n\nb/\n")
    assert [each.file for each in lint([str(tmp_path)], NOW, exclude=["d.*"]).remarks if each.code == "not-one-of"] == [
        str(tmp_path / "a" / "web.yaml")
    ]
    assert codes(lint([str(tmp_path / "b" / "web.yaml")], NOW)) == ["not-one-of"], "what is named is read"
    assert len(list(read_documents([tmp_path]))) == 4, "nothing is kept from those who place it"


def test_patterns_are_not_read_behind_a_link_that_leaves_the_folder(tmp_path: Path):
    """Which files are passed over would tell whoever writes them what stands in a file of the runner."""
    here = tmp_path / "manifests"
    write(here, {"canary.yaml": PLACEMENT, "patterns": "canary.yaml\n"})
    (tmp_path / "elsewhere").write_text("canary.yaml\n")
    ignoring = here / ".fleetlintignore"
    ignoring.symlink_to(tmp_path / "elsewhere")
    found = lint([str(here)], NOW).remarks
    assert {(each.code, each.file) for each in found} >= {
        ("not-one-of", str(here / "canary.yaml")),
        ("unreadable", str(ignoring)),
    }
    ignoring.unlink()
    ignoring.symlink_to("patterns")
    assert "not-one-of" not in codes(lint([str(here)], NOW)), "one within the folder is followed"


@pytest.mark.parametrize(
    ("pattern", "folders", "files"),
    [
        ("charts", ["charts", "a/charts"], ["charts", "a/charts"]),
        ("charts/", ["charts", "a/charts"], []),
        ("/charts", ["charts"], ["charts"]),
        ("a/charts/", ["a/charts"], []),
        ("*arts", ["charts", "a/charts"], ["charts", "a/charts"]),
        ("**/charts", ["charts", "a/charts"], ["charts", "a/charts"]),
        ("a/**", ["a/charts", "a"], ["a/charts", "a"]),
        ("*", ["charts", "a/charts", "a"], ["charts", "a/charts", "a"]),
        ("", [], []),
        ("/", [], []),
        ("**/" * 400 + "*a" * 400, [], []),
    ],
)
def test_patterns_of_what_is_excluded(pattern: str, folders: list[str], files: list[str]):
    paths, excluded = ["charts", "a/charts", "a"], Excluded((pattern,))
    assert [each for each in paths if excluded.folder(each)] == folders
    assert [each for each in paths if excluded.file(each)] == files


def test_a_comment_silences_a_code_in_one_place(tmp_path: Path):
    text = PLACEMENT.replace("PickSome}", "PickSome}  # fleetlint: ignore not-one-of, wrong-type")
    write(tmp_path, {"a.yaml": text, "b.yaml": PLACEMENT})
    found = lint([str(tmp_path)], NOW)
    assert [each.file for each in found.remarks if each.code == "not-one-of"] == [str(tmp_path / "b.yaml")]
    assert found.silenced == 1
    assert "; 1 silenced by comments" in findings_summary(found.remarks, 2, 2, 0, found.silenced)
    above = PLACEMENT.replace(
        "  policy:", "  # fleetlint: ignore not-one-of\n  # as long as the old hub is there\n  policy:"
    )
    for comment, told in ((above, []), (above.replace("not-one-of", "wrong-type"), ["not-one-of"])):
        (tmp_path / "b.yaml").write_text(comment)
        assert codes(lint([str(tmp_path / "b.yaml")], NOW)) == told


MEMBER = "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: a, labels: {region: %s}}\n"
MEMBER += "spec: {identity: {kind: User, name: %s}}\n"


@pytest.mark.parametrize("text", ["no", "yes", "on", "Off", "010", "0x1F", "0o17", "0b11", "1_000"])
def test_what_is_written_is_offered_in_quotes_and_no_other_value(text: str, tmp_path: Path):
    """YAML 1.1 reads no as false and 010 as 8; false was offered for it."""
    (tmp_path / "a.yaml").write_text(MEMBER % (text, text))
    found = lint([str(tmp_path)], NOW)
    assert sorted(each.code for each in found.remarks) == ["label-value-not-text", "wrong-type"]
    assert [list(each.mended.values()) for each in found.remarks] == [[text], [text]]
    (one,) = found.mended
    assert (one.document["metadata"]["labels"]["region"], one.document["spec"]["identity"]["name"]) == (text, text)


@pytest.mark.parametrize("text", ["1e3", "1.10", ".5"])
def test_a_number_that_lost_digits_is_offered_as_it_is_written(text: str, tmp_path: Path):
    (tmp_path / "a.yaml").write_text(f"budgets: [{{nodes: {text}, schedule: '@daily', duration: 1h}}]\n")
    (found,) = lint([str(tmp_path / "a.yaml")], NOW).remarks
    assert (found.code, list(found.mended.values())) == ("wrong-type", [text])


def test_placements_read_what_is_written(tmp_path: Path):
    """A label no was placed as false."""
    text = PLACEMENT.replace("policy: {placementType: PickSome}", "policy: {placementType: PickAll}").replace(
        "name: web}]", "labelSelector: {matchLabels: {country: no}}}]"
    )
    (tmp_path / "a.yaml").write_text(text)
    (sourced,) = placements_in(read_manifests([tmp_path / "a.yaml"]), strict=False)
    selector = sourced.placement.spec.resource_selectors[0].label_selector
    assert selector is not None and selector.match_labels == {"country": "no"}


@pytest.mark.parametrize(
    "value", ["$CLUSTER", "${CLUSTER}", "<name>", "{{ .Values.name }}", "{{ include 'a' . }}-x", "p-{{ x }}"]
)
def test_a_value_from_elsewhere_is_a_note_and_the_rest_is_judged(value: str, tmp_path: Path):
    text = PLACEMENT.replace("metadata: {name: web}", f"metadata:\n  name: {value}")
    (tmp_path / "a.yaml").write_text(text)
    found = lint([str(tmp_path)], NOW)
    assert [(each.level, each.code, each.line) for each in found.remarks] == [
        ("note", "stand-in", 5),
        ("error", "not-one-of", 8),
    ]


HOLED = """apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata:
  name: web
spec:
  resourceSelectors:
    - {group: "", kind: Namespace, version: v1, name: web}
    ...
  policy:
    placementType: Pickn
    numberOfClusters: 1
"""


@pytest.mark.parametrize(("holes", "level"), [(False, "error"), (True, "note")])
def test_a_line_that_leaves_something_out_is_told_and_the_rest_is_judged(holes: bool, level: str, tmp_path: Path):
    """The whole file was called no YAML."""
    (tmp_path / "web.yml").write_text(HOLED, encoding="utf-8")
    for given in (tmp_path, tmp_path / "web.yml"):
        found = lint([str(given)], NOW, holes=holes).remarks
        assert [(each.level, each.code, each.line) for each in found] == [
            (level, "placeholder", 8),
            ("error", "not-one-of", 10),
        ]


def test_such_a_line_in_a_text_and_at_the_end_of_a_document_is_none(tmp_path: Path):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    one\n    ...\n    two\n...\n"
    (tmp_path / "a.yml").write_text(text, encoding="utf-8")
    assert lint([str(tmp_path)], NOW).remarks == ()


@pytest.mark.parametrize("kind", ["MemberCluster", "Secret"])
def test_a_template_is_read_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = f"{{{{ if .Values.on }}}}\napiVersion: cluster.kubernetes-fleet.io/v1\nkind: {kind}\n{{{{ end }}}}\n"
    whole = f"# {{{{ x }}}}\n  {{{{- end }}}}\n{text}"
    read: list[str] = []
    monkeypatch.setattr(linting, "documents_of", lambda text, path: read.append(path) or documents_of(text, path))
    for name, content in (("a.yml", text), ("b.yml", whole)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    linted = lint([str(tmp_path)], NOW)
    assert linted.remarks == () and linted.passed_over == 2
    assert sorted(Path(each).name for each in read) == ["a.yml", "b.yml"]


@pytest.mark.parametrize("line", ["    {{ define 'x' }}hello{{ end }}", "    hello"])
def test_a_text_with_a_directive_makes_no_template_of_manifests_that_are_yaml_F22(line: str, tmp_path: Path):
    """What is wrong with them beside it was passed over with the file."""
    alert = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  a: |\n{line}\n---"
    (tmp_path / "a.yml").write_text(f"{alert}{PLACEMENT}  policy: {{}}\n")
    found = lint([str(tmp_path)], NOW)
    assert (codes(found), found.passed_over) == (["not-one-of", "duplicate-key"], 0)


@pytest.mark.parametrize("place", ["metadata:\n  {{ .x }}", "metadata: {}\n---\n{{ .x }}"])
def test_a_directive_in_the_place_of_a_key_makes_one(place: str, tmp_path: Path):
    (tmp_path / "a.yml").write_text(f"apiVersion: karpenter.sh/v1\nkind: NodePool\n{place}\n")
    found = lint([str(tmp_path)], NOW)
    assert (codes(found), found.passed_over) == ([], 1)
