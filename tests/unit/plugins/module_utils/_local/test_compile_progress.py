# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far a compile is: by what the compiler is made to say, and with the real one and a module of four packages."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import binaries, compile_progress, recipes
from ansible_collections.gitops.fleet.plugins.module_utils._local.compile_progress import PAUSE, CompileProgress

LISTED = """unsafe
vendor/golang.org/x/text unsafe
net golang.org/x/text unsafe
a net
b unsafe
main a b C
"""


def test_what_a_package_imports_is_done_when_the_compiler_begins_with_it() -> None:
    now, said = [0.0], list[str]()
    progress = CompileProgress("tool 1.0.0", LISTED, said.append, lambda: now[0])
    assert progress.all == 6
    assert progress.heard("net") and progress.done == 2
    now[0] = PAUSE
    assert progress.heard("a") and progress.done == 3
    assert said == ["building tool 1.0.0: 3 of 6 packages are compiled"]
    assert progress.heard("main") and progress.done == 5
    assert len(said) == 1, "one line in ten seconds is enough"


@pytest.mark.parametrize("line", ["", "# a", "go: downloading a v1.0.0", "a.go:1: undefined: b"])
def test_what_is_no_package_is_told_from_one(line: str) -> None:
    progress = CompileProgress("tool 1.0.0", LISTED, print)
    assert not progress.heard(line) and progress.done == 0


def test_a_build_that_was_broken_off_goes_on_where_it_was() -> None:
    """What was kept of it is not named again."""
    progress = CompileProgress("tool 1.0.0", LISTED, print)
    assert progress.heard("main") and progress.done == 5


def small_module(folder: Path, number: int, say: str = "0") -> recipes.Recipe:
    """Packages that the build cache cannot know: each has a number of its own."""
    texts = {
        "go.mod": "module example.test/small\n\ngo 1.21\n",
        "a/a.go": f'package a\n\nimport "fmt"\n\nfunc A() int {{ fmt.Println(); return {number} }}\n',
        "b/b.go": 'package b\n\nimport "example.test/small/a"\n\nfunc B() int { return a.A() }\n',
        "c/c.go": 'package c\n\nimport "example.test/small/b"\n\nfunc C() int { return b.B() }\n',
        "main.go": f'package main\n\nimport "example.test/small/c"\n\nfunc main() {{ println(c.C() + {say}) }}\n',
    }
    for name, text in texts.items():
        (folder / "small" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "small" / name).write_text(text)
    (folder / "small" / "go.sum").write_text("")
    return dataclasses.replace(recipes.recipe("etcd"), family=str(folder / "small"), programs={"etcd": "."}, ldflags=())


def test_the_real_compiler_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_progress, "PAUSE", 0.0)
    said: list[str] = []
    module = small_module(tmp_path, time.time_ns())
    folder = binaries.provide(module, tmp_path / "cache", said.append)
    assert (folder / "etcd").stat().st_size > 100_000
    told = [line for line in said if line.endswith("packages are compiled")]
    assert said[0] == "building etcd 3.6.14" and told, said
    counts = [line.removesuffix(" packages are compiled").rpartition(": ")[2].split(" of ") for line in told]
    done, every = [int(count) for count, _all in counts], {int(count) for _done, count in counts}
    assert done == sorted(done) and every == {done[-1] + 1}, "the last one, main, is being compiled"


def test_names_of_packages_are_no_part_of_what_went_wrong(tmp_path: Path) -> None:
    module = small_module(tmp_path, time.time_ns(), say="nothing")
    with pytest.raises(FleetError) as failed:
        binaries.provide(module, tmp_path / "cache")
    assert failed.value.code == "build-failed" and "undefined: nothing" in failed.value.message
    assert "\nexample.test/small/a\n" not in failed.value.message
