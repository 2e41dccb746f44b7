# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where a kubeconfig lies that somebody else names."""

from __future__ import annotations

import json
import os
import threading
import typing as t
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login import kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.kubeconfig import (
    local_path,
    parse_yaml,
    read_kubeconfig,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel

ENVIRON = {"HOME": "/home/anna", "CI_PROJECT_DIR": "/builds/fleet", "TOKEN": "canary", "HTTPS_PROXY": "http://a:b@c"}


@pytest.mark.parametrize(
    "written, meant",
    [
        ("$HOME/.kube/config", "/home/anna/.kube/config"),
        ("${CI_PROJECT_DIR}/east", "/builds/fleet/east"),
        ("/etc/$TOKEN", "/etc/$TOKEN"),
        ("/etc/${TOKEN}x", "/etc/${TOKEN}x"),
        ("$HTTPS_PROXY", "$HTTPS_PROXY"),
        ("$WORKSPACE/east", "$WORKSPACE/east"),
        ("~/east", "/home/anna/east"),
        ("", ""),
    ],
)
def test_variables_that_say_where_things_are(written: str, meant: str) -> None:
    """Whoever may write FleetMembers does not read the runner's secrets out of a path."""
    assert local_path(written, ENVIRON) == meant


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was parsed. The first waits for a moment in which threads that do not wait for it would begin too."""
    found: list[str] = []
    real, others = kubeconfig.parse_yaml, threading.Event()

    def parse(text: str | bytes, where: str) -> t.Any:
        found.append(where)
        if len(found) > 1:
            others.set()
        others.wait(0.2)
        return real(text, where)

    monkeypatch.setattr(kubeconfig, "parse_yaml", parse)
    return found


def test_threads_that_ask_at_once_parse_a_file_once(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "config"
    path.write_text("contexts: [{name: east, context: {cluster: east}}]", encoding="utf-8")
    answers = in_parallel({str(number): partial(read_kubeconfig, path) for number in range(32)}, 32)
    assert parsed == [str(path)] and all(list(t.cast(t.Any, each).contexts) == ["east"] for each in answers.values())


def test_a_file_that_was_replaced_is_parsed_again(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "config"
    for name in ("east", "west"):
        path.with_suffix(".new").write_text(f"contexts: [{{name: {name}, context: {{}}}}]", encoding="utf-8")
        path.with_suffix(".new").replace(path)
        assert list(read_kubeconfig(path).contexts) == [name]
    assert len(parsed) == 2


NOT_YAML = "the kubeconfig is not YAML"


@pytest.mark.parametrize(
    "text",
    [
        *("a: 2024-99-99", "a: 0b_", f"a: {'9' * 5000}", f"a: 0x{'f' * 9000}"),
        *('a: !!int ""', 'a: !!float ""', "a: !!bool x", "a: !!timestamp x"),
        "a: &a {<<: *a}",
    ],
)
def test_what_python_has_no_value_for_is_no_yaml(tmp_path: Path, text: str) -> None:
    """F22."""
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FleetError) as refused:
        read_kubeconfig(path)
    assert (refused.value.code, refused.value.message) == ("kubeconfig-invalid", NOT_YAML)


@pytest.mark.parametrize("kind", [str, str.encode])
def test_a_kubeconfig_of_json_may_escape_every_letter(kind: t.Callable[[str], t.Any]) -> None:
    """As libraries write it that are asked for ASCII alone; kubectl reads that."""
    document = {"current-context": "fleet \N{ROCKET}", "users": [{"name": "\\ud83d \\\N{ROCKET} é"}]}
    assert parse_yaml(kind(json.dumps(document)), "f") == document
    assert parse_yaml(kind("\n " + json.dumps(document, indent=2)), "f") == document
    assert parse_yaml(kind("\ufeff" + json.dumps(document)), "f") == document


@pytest.mark.parametrize("text", ['{"a": "\\ud83d"}', b'{"a": "\xff"}', b'{"a": '])
def test_json_that_is_no_text_is_no_yaml_either(text: t.Any) -> None:
    with pytest.raises(FleetError) as refused:
        parse_yaml(text, "f")
    assert refused.value.code == "kubeconfig-invalid" and refused.value.message == NOT_YAML


def bomb(level: str) -> str:
    rows = (f"a{n}: &a{n} {level.format(', '.join([f'*a{n - 1}'] * 10))}\n" for n in range(1, 12))
    return "a0: &a0 {x: 1}\n" + "".join(rows)


@pytest.mark.parametrize("text", [bomb("[{}]"), bomb("{{<<: [{}]}}"), "a: &a [*a]", "a: &a {b: *a}"])
def test_aliases_that_unfold_without_end_are_refused(text: str) -> None:
    """F22: whoever writes a Secret on the hub must not fill the memory of the runner."""
    with pytest.raises(FleetError) as refused:
        parse_yaml(text, "Secret a/b")
    assert refused.value.code == "kubeconfig-invalid"


@pytest.mark.parametrize("kind", [str, str.encode, lambda text: text.encode("utf-16")], ids=["text", "utf-8", "utf-16"])
@pytest.mark.parametrize("level", ["[", "- ", "{a: ", "? "])
def test_what_is_nested_without_end_is_refused(level: str, kind: t.Callable[[str], t.Any]) -> None:
    """F22: PyYAML's own recursion would end the process, without a word."""
    for text in (level * 50_000, "current-context: a\nusers:\n  " + level * 50_000):
        with pytest.raises(FleetError) as refused:
            parse_yaml(kind(text), "Secret a/b")
        assert (refused.value.code, refused.value.message) == ("kubeconfig-invalid", NOT_YAML)


def test_aliases_that_are_used_as_they_are_meant_are_fine() -> None:
    text = "a: &a {x: 1, y: 2024-01-02}\nb: [*a, *a]\nc: {<<: [*a, {z: 3}], x: 2}\n"
    found = parse_yaml(text, "f")
    assert found["b"] == [found["a"]] * 2 and found["c"] == {**found["a"], "z": 3, "x": 2}


@pytest.mark.parametrize("current", [5, ["canary"], {"a": "canary"}])
def test_a_current_context_is_a_text(current: t.Any) -> None:
    with pytest.raises(FleetError) as refused:
        kubeconfig.kubeconfig_from_document({"current-context": current}, "f")
    assert refused.value.where == "f current-context" and "canary" not in str(refused.value)


@pytest.mark.parametrize("name", ["x" * 300, "closed/config", "a\0b", "~a\0b", "\ud800"])
def test_a_file_that_cannot_be_looked_at_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Only root can look into a closed folder, so it is closed by hand here."""
    real = os.stat

    def closed(path: t.Any, *more: t.Any, **named: t.Any) -> os.stat_result:
        if str(path).endswith("closed/config"):
            raise PermissionError(13, "Permission denied")
        return real(path, *more, **named)

    (tmp_path / "good").write_text("contexts: []", encoding="utf-8")
    monkeypatch.setattr(os, "stat", closed)
    monkeypatch.chdir(tmp_path)
    for given in (name, f"{name}:good", f"good:{name}"):
        with pytest.raises(FleetError) as refused:
            read_kubeconfig(given)
        assert (refused.value.code, "cannot be read" in refused.value.message) == ("kubeconfig-missing", True)
    assert read_kubeconfig("good:none:good/none").contexts == {}
