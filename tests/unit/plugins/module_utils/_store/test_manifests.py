# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reading manifests: values as kubectl reads them, lines of every field, and each bad input with its own sentence."""

from __future__ import annotations

import json
import os
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.lint import lint
from ansible_collections.gitops.fleet.plugins.module_utils._store import documents_in_files, yaml_documents
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import Manifest, read_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.yaml_documents import YamlDocument, read_yaml

NOW = datetime(2026, 1, 15, 13, tzinfo=UTC)
HEAD = "apiVersion: v1\nkind: ConfigMap\n"
MAP = HEAD + "metadata: {name: a}\n"
GOOD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@pytest.fixture
def read(tmp_path: Path) -> t.Callable[..., tuple[Manifest, ...]]:
    def from_text(text: str | bytes, name: str = "m.yaml") -> tuple[Manifest, ...]:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_manifests([file])

    return from_text


@pytest.fixture
def refused(read: t.Callable[..., tuple[Manifest, ...]]) -> t.Callable[..., list[tuple[str, str]]]:
    def codes_and_lines(text: str | bytes, name: str = "m.yaml") -> list[tuple[str, str]]:
        with pytest.raises(FleetError) as caught:
            read(text, name)
        return [(problem.code, problem.where.rpartition("/")[2].partition(":")[2]) for problem in caught.value.problems]

    return codes_and_lines


def test_several_documents_each_know_where_they_begin(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    found = read(f"# first\n---\n{MAP}---\n---\n# nothing\n---\n{MAP.replace('a}', 'b}')}")
    assert [m.document["metadata"]["name"] for m in found] == ["a", "b"]
    assert [m.where.rpartition(":")[2] for m in found] == ["3", "10"]


def test_lists_are_taken_apart_and_their_items_have_lines_of_their_own(read: t.Callable[..., t.Any]) -> None:
    item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {}\n"
    (a, b) = read("apiVersion: v1\nkind: List\nitems:\n" + item.format("a") + item.format("b"))
    assert (a.document["metadata"]["name"], b.document["metadata"]["name"]) == ("a", "b")
    assert (a.where[-7:], b.where_of("metadata.name")[-8:]) == (".yaml:4", ".yaml:11")


def test_the_line_of_a_field_is_found_by_its_path(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    text = HEAD + (
        "metadata:\n  name: a\n  labels:\n    app.kubernetes.io/name: x\nspec:\n  policy:\n"
        "    clusterNames:\n    - one\n    - two\n"
    )
    (found,) = read(text)
    lines = {
        "metadata.labels": 5,
        "metadata.labels.app.kubernetes.io/name": 6,
        "metadata.labels[app.kubernetes.io/name]": 6,
        "metadata.labels['app.kubernetes.io/name']": 6,
        "spec.policy.clusterNames[1]": 11,
        "spec.policy.clusterNames[7]": 9,
        "spec.policy.numberOfClusters": 8,
        "nothing.of.it": 1,
    }
    assert {path: int(found.where_of(path).rpartition(":")[2]) for path in lines} == lines


@pytest.mark.parametrize("name", ["m.yaml", "m.json"])
def test_json_is_read_with_lines_tabs_and_escapes(read: t.Callable[..., tuple[Manifest, ...]], name: str) -> None:
    text = (
        '{\n\t"apiVersion": "v1", "kind": "ConfigMap",\n\t"metadata": {\n\t\t"name": "a"},\n'
        '\t"data": {"a/b": "x\\u00e9\\n"}\n}\n'
    )
    (found,) = read(text, name)
    assert found.document["data"] == {"a/b": "xé\n"}
    assert found.where_of("metadata.name").endswith(f"{name}:4")


def test_json_may_write_an_emoji_as_two_escapes(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    (found,) = read(
        '{"apiVersion": "v1", "kind": "C", "metadata": {"name": "a"}, "data": {"k": "\\ud83d\\ude00"}}', "m.json"
    )
    assert found.document["data"]["k"] == "\U0001f600"


def test_crlf_byte_order_mark_and_emoji_are_fine(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    """F22"""
    text = b"\xef\xbb\xbf" + (MAP + "data:\n  x: \U0001f600\n  z: |\n    1\n    2\n").replace("\n", "\r\n").encode()
    (found,) = read(text)
    assert found.document["data"] == {"x": "\U0001f600", "z": "1\n2\n"}


def test_quoted_and_tagged_text_stays_text(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    (found,) = read(MAP + "data: {a: '1', b: \"yes\", c: !!str 5, d: ! 6, e: 7, 8080: x}\n")
    assert found.document["data"] == {"a": "1", "b": "yes", "c": "5", "d": "6", "e": 7, "8080": "x"}


def test_aliases_are_copies_and_merge_keys_give_way_to_own_keys(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    (found,) = read(MAP + "one: &x {a: 1, b: [1]}\ntwo: *x\nthree: {<<: *x, a: 3}\nfour: {<<: [{c: 4}, *x]}\n")
    document = found.document
    assert document["two"] == {"a": 1, "b": [1]} and document["two"]["b"] is not document["one"]["b"]
    assert document["three"] == {"a": 3, "b": [1]} and document["four"] == {"c": 4, "a": 1, "b": [1]}


def test_what_was_written_in_a_merged_mapping_is_not_told_of_a_later_one(
    read: t.Callable[..., tuple[Manifest, ...]],
) -> None:
    """A copy that was merged is gone, and what is read next may lie where it lay in memory."""
    rows = "".join(f"  - {{<<: *m, zone: a}}\n  - {{canary: {['true', '{}'][n % 2]}}}\n" for n in range(200))
    (found,) = read(MAP + "spec:\n  - &m {canary: no, at: 010}\n" + rows)
    assert [found.written(f"spec[{n}].canary") for n in range(5)] == ["no", "no", None, "no", None]
    assert not [n for n in range(2, 401, 2) if found.written(f"spec[{n}].canary") is not None]


def test_what_is_written_is_known_where_an_alias_stands() -> None:
    """One anchor would else become two values: ``010`` where it stands, and ``8`` where it is meant."""
    (found,) = read_yaml("a: &x 010\nb: *x\nc: [*x]\nd: &x 1\ne: *x\n", "f.yaml")
    assert isinstance(found, YamlDocument)
    assert found.texts[id(found.value)] == {"a": "010", "b": "010"}
    assert found.texts[id(found.value["c"])] == {0: "010"}


def test_of_a_key_that_is_there_twice_the_text_of_the_second_is_not_told() -> None:
    found = [each for each in read_yaml("tier: 1\ntier: 0777\n", "x.yaml") if isinstance(each, YamlDocument)]
    assert [(each.value, each.texts.get(id(each.value), {})) for each in found] == [({"tier": 1}, {})]


def test_merged_keys_stand_in_the_order_of_what_they_come_from(
    read: t.Callable[..., tuple[Manifest, ...]],
) -> None:
    names = [f"k{n}" for n in range(30)]
    (found,) = read(MAP + f"one: &x {{{', '.join(f'{name}: 1' for name in names)}}}\ntwo: {{<<: *x, own: 1}}\n")
    assert list(found.document["two"]) == ["own", *names]


@pytest.mark.parametrize("password", ["!hunter2", "!!hunter2"])
def test_a_password_that_yaml_takes_for_a_tag_is_not_shown(
    read: t.Callable[..., tuple[Manifest, ...]], password: str
) -> None:
    with pytest.raises(FleetError) as wrong:
        read(MAP + f"stringData:\n  pw: {password}\n")
    (problem,) = wrong.value.problems
    assert problem.code == "unknown-tag" and problem.hint == "quote the value if it begins with !"
    assert "hunter2" not in str(wrong.value) + problem.message


BOMB = (
    MAP + "a0: &a0 [xxxxxxxxxx]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MAP + "data: {a: 1, a: 2}\n", [("duplicate-key", "4")]),
        (MAP + "data:\n  a: 1\n  b: 2\n  a: 3\n", [("duplicate-key", "7")]),
        (MAP + "data:\n\ta: 1\n", [("bad-yaml", "5")]),
        (MAP + "data: [1\n", [("bad-yaml", "5")]),
        (MAP + "data: *nowhere\n", [("bad-yaml", "4")]),
        (MAP + "data: &x [*x]\n", [("too-deep", "4")]),
        (MAP + "data: " + "[" * 250 + "]" * 250 + "\n", [("too-deep", "4")]),
        (MAP + "data: !!python/object:os.system {}\n", [("unknown-tag", "4")]),
        (MAP + "data: !secret x\n", [("unknown-tag", "4")]),
        (MAP + "data: {a: .inf}\n", [("bad-number", "4")]),
        (MAP + "data: {a: !!float .inf}\n", [("bad-number", "4")]),
        (MAP + "data: {a: !!int '-.Inf'}\n", [("bad-number", "4")]),
        (MAP + "data: {true: x}\n", [("bad-key", "4")]),
        (MAP + "data:\n  x: 1\n  y: 2\n", [("bad-key", "6")]),
        (MAP + "? [a]\n: 1\n", [("bad-key", "4")]),
        (MAP + "data: {<<: 5}\n", [("bad-key", "4")]),
        ("- 1\n- 2\n", [("not-a-mapping", "1")]),
        ("hello\n", [("not-a-mapping", "1")]),
        ("metadata: 5\n", [("not-a-mapping", "1")]),
        ("spec: {}\n", [("missing-field", "1")] * 3),
        (HEAD + "metadata:\n  generateName: a-\n", [("missing-field", "3")]),
        (HEAD + "metadata:\n  name: 123\n", [("bad-name", "4")]),
        (HEAD + f"metadata:\n  name: {'a' * 300}\n", [("bad-name", "4")]),
        (HEAD + "metadata:\n  name: Web_1\n", [("bad-name", "4")]),
        (HEAD + "metadata:\n  name: ../etc\n", [("bad-name", "4")]),
        (HEAD + "metadata:\n  name: a\n  namespace: A.b\n", [("bad-name", "5")]),
        (b"a: \xff\xfe\n", [("not-utf-8", "1")]),
        (MAP.encode("utf-16"), [("not-utf-8", "1")]),
        (MAP + "data: {a: \x07}\n", [("bad-yaml", "")]),
    ],
)
def test_bad_input_is_refused_with_its_line(
    refused: t.Callable[..., t.Any], text: str | bytes, expected: t.Any
) -> None:
    """F22, F29"""
    assert refused(text) == expected


def test_a_bomb_of_aliases_is_refused_before_it_unfolds(refused: t.Callable[..., t.Any]) -> None:
    """F22"""
    ((code, _line),) = refused(BOMB)
    assert code == "too-big"


def test_a_file_that_is_too_big_is_not_read(refused: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_in_files, "MAX_BYTES", 1000)
    assert refused(MAP + "data: " + "x" * 1000) == [("too-big", "")]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("rbac.authorization.k8s.io/v1\nkind: ClusterRole", "system:x"),
        ("certificates.k8s.io/v1beta1\nkind: ClusterTrustBundle", "example.com:signer:x"),
    ],
)
def test_names_of_roles_and_trust_bundles_may_have_colons(
    read: t.Callable[..., tuple[Manifest, ...]], kind: str, name: str
) -> None:
    (found,) = read(f"apiVersion: {kind}\nmetadata: {{name: '{name}'}}\n")
    assert found.document["metadata"]["name"] == name


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(MAP + "data: {a: 1, a: 2}\n---\nkind: X\n")
    (tmp_path / "b.yaml").write_text("[")
    with pytest.raises(FleetError) as caught:
        read_manifests([tmp_path, tmp_path / "absent"])
    assert [p.code for p in caught.value.problems] == [
        "duplicate-key",
        "missing-field",
        "missing-field",
        "bad-yaml",
        "no-such-file",
    ]
    assert "Traceback" not in str(caught.value)


def test_several_names_in_one_text_are_shown_as_a_list(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as caught:
        read_manifests([f"{tmp_path}/a,b"])
    assert caught.value.problems[0].hint == f'several are a list: ["{tmp_path}/a", "b"]'


def test_a_folder_is_read_in_order_without_hidden_folders_and_nothing_twice(tmp_path: Path) -> None:
    for name in ("b/x.yml", "a.yaml", "b.json", ".git/z.yaml", "b/readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{{apiVersion: v1, kind: C, metadata: {{name: {name[0]}}}}}")
    found = read_manifests([tmp_path / "b", tmp_path, tmp_path / "b" / "x.yml"])
    assert [Path(m.path).relative_to(tmp_path).as_posix() for m in found] == ["b/x.yml", "a.yaml", "b.json"]


def test_a_file_that_cannot_be_read_is_a_problem_and_not_an_absence(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(FleetError) as caught:
        read_manifests([tmp_path])
    assert caught.value.code == "unreadable"


def test_more_documents_than_manifests_have(refused: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists count with what is in them; and a file of nothing but separators is not even parsed."""
    monkeypatch.setattr(documents_in_files, "MAX_DOCUMENTS", 3)
    four = "---\n".join(MAP.replace("a}", f"a{number}}}") for number in range(4))
    assert refused(four) == [("too-big", "")]
    assert refused("apiVersion: v1\nkind: List\nitems: [" + ", ".join([json.dumps(GOOD)] * 4) + "]") == [
        ("too-big", "")
    ]
    monkeypatch.setattr(documents_in_files, "read_yaml", None)
    assert refused("---\n" * 5) == [("too-big", "")]


@pytest.mark.parametrize(
    "text", ["a: [1, 2, 3, 4, 5, 6]", "{a: {}, b: {}, c: {}, d: {}}", "---\na\n" * 9, "[[[[[[[[[]]]]]]]]]"]
)
def test_more_values_than_manifests_have(
    refused: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(yaml_documents, "MAX_VALUES", 8)
    assert ("too-big", "1" if "---" not in text else "18") in refused(text)


def test_aliases_to_nothing_but_brackets_weigh_something(refused: t.Callable[..., t.Any]) -> None:
    """F22: an empty list has one or two characters, and takes the memory of sixty."""
    text = "a: &x [" + ",".join(["[]"] * 20_000) + "]\nb: [" + ",".join(["*x"] * 100) + "]\n"
    assert refused(text) == [("too-big", "2")]


def test_an_anchor_that_is_given_twice_means_the_last(read: t.Callable[..., tuple[Manifest, ...]]) -> None:
    (found,) = read(MAP + "data: {a: &x 1, b: *x, c: &x [2], d: *x, &x e: *x}\n")
    assert found.document["data"] == {"a": 1, "b": 1, "c": [2], "d": [2], "e": "e"}


def test_documents_come_as_they_are_read(tmp_path: Path) -> None:
    """What follows a document is not needed to use it, and need not be held in memory beside it."""
    (tmp_path / "m.yaml").write_text(f"{MAP}---\n{MAP}---\na: [\n")
    found = documents_in_files.read_documents([tmp_path / "m.yaml"])
    assert [type(each).__name__ for each in found] == ["Document", "Document", "Problem"]


def test_without_pyyaml_the_message_says_what_to_install(
    read: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_documents, "yaml", None)
    with pytest.raises(FleetError) as caught:
        read(MAP)
    assert caught.value.code == "missing-library"


@pytest.mark.parametrize("kind", ["pipe", "device", "endless", "loop", "name"])
def test_what_is_no_file_is_never_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.yaml"
    if kind == "pipe":
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind != "name":
        path.symlink_to({"device": "/dev/zero", "endless": "/proc/self/mem"}[kind])
    for given in [path] if kind != "name" else ["a\0b"]:
        with pytest.raises(FleetError) as caught:
            read_manifests([given])
        assert [problem.code for problem in caught.value.problems] == ["unreadable"]
    if kind != "name":
        with pytest.raises(FleetError) as caught:
            read_manifests([tmp_path])
        assert caught.value.code == "unreadable"


@pytest.mark.parametrize("loader", ["in C", "in Python"])
@pytest.mark.parametrize("text", ["spec:\n  - a: 1\n   b: 2\n", "spec:\n  a: 1\n b: 2\n"])
def test_a_line_that_is_indented_to_no_block_is_told_of_its_indentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, loader: str
) -> None:
    if loader == "in Python":
        monkeypatch.delattr(yaml_documents.yaml, "CSafeLoader", raising=False)
    (tmp_path / "a.yaml").write_text(MAP + text)
    with pytest.raises(FleetError) as caught:
        read_manifests([tmp_path])
    assert caught.value.hint == "often it is the indentation, of this line or of one above"


def test_text_that_the_parser_in_python_refuses_at_once(
    refused: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(yaml_documents.yaml, "CSafeLoader", raising=False)
    assert refused("a: \x07") == [("bad-yaml", "")]


def test_the_parser_in_python_gives_the_same_as_the_one_in_c(
    read: t.Callable[..., tuple[Manifest, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MAP + "data: {a: &x [1, yes, 'no'], b: *x}\n---\n" + MAP
    fast = read(text)
    monkeypatch.delattr(yaml_documents.yaml, "CSafeLoader", raising=False)
    assert [(m.document, m.where) for m in read(text)] == [(m.document, m.where) for m in fast]


def test_a_link_to_a_folder_is_told_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FleetError) as refused:
        read_manifests([tmp_path / "here"])
    assert (refused.value.code, refused.value.where) == ("unreadable", str(tmp_path / "here" / "linked"))
    (tmp_path / "given").symlink_to(tmp_path / "elsewhere")
    assert read_manifests([tmp_path / "given"]) == ()


def test_a_link_that_leaves_the_folder_is_told_and_not_read(tmp_path: Path) -> None:
    """A pull request could show a token of the runner, or place it."""
    (tmp_path / "token").write_text("canary")
    (tmp_path / "here" / "below").mkdir(parents=True)
    (tmp_path / "here" / "below" / "real.yaml").write_text(MAP)
    (tmp_path / "here" / "inside.yaml").symlink_to("below/real.yaml")
    assert len(read_manifests([tmp_path / "here"])) == 1
    (tmp_path / "here" / "outside.yaml").symlink_to(tmp_path / "token")
    with pytest.raises(FleetError) as refused:
        read_manifests([tmp_path / "here"])
    assert (refused.value.code, refused.value.where) == ("unreadable", str(tmp_path / "here" / "outside.yaml"))


def test_what_is_no_manifest_is_not_shown(tmp_path: Path) -> None:
    for text in ("canary", "*canary", "[canary]", "- canary"):
        (tmp_path / "a.yaml").write_text(text)
        found = lint([str(tmp_path / "a.yaml")], NOW, consent=True)
        assert found.remarks and "canary" not in str(found.remarks), text
