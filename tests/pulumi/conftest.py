# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of ``pulumi/environments`` without an engine: what it registers is written down, nothing is made."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pulumi
import pytest
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.mocks import MockMonitor, MockResourceArgs

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "pulumi" / "environments"
sys.path.insert(0, str(PROGRAM))

# What a cluster of ours tells when it is made, and a member's login.
TOLD = {"kubeconfig": "/made/kubeconfig", "running_version": "1.36.3", "server": "https://127.0.0.1:21002"}
# And one that was there.
CLOUD = {"version": "1.35.4", "labels": {"fleet.azure.com/location": "westeurope", "team": "cloud"}}


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A resource as the engine is asked for it; the others are meant by their names."""

    type: str
    name: str
    parent: str
    provider: str
    deleted_with: str
    depends_on: frozenset[str]
    protect: bool
    inputs: dict[str, t.Any]


@dataclass(eq=False)
class Recorder(MockMonitor):
    """An engine that says yes to everything, and remembers what it was asked."""

    found: list[Registered] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(_Yes())

    def RegisterResource(self, request: t.Any) -> t.Any:  # the engine's name
        self.found.append(
            Registered(
                type=request.type,
                name=request.name,
                parent=_name(request.parent),
                provider=_name(request.provider.rpartition("::")[0]),
                deleted_with=_name(request.deletedWith),
                depends_on=frozenset(map(_name, request.dependencies)),
                protect=request.protect,
                inputs=MessageToDict(request.object),
            )
        )
        return super().RegisterResource(request)


class _Yes(pulumi.runtime.Mocks):
    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, t.Any]]:
        told = {**TOLD, "context": args.name} if args.typ.endswith(":LocalCluster") else {}
        told = CLOUD if args.typ.endswith(":ExistingCluster") else told
        given = {key: value for key, value in args.inputs.items() if value is not None}
        return f"{args.name}-id", {**told, **given}

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, t.Any]:
        raise AssertionError(f"nothing is asked of a provider: {args.token}")


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


@dataclass(frozen=True)
class Ran:
    """What a program registered, and the value that it gave."""

    found: tuple[Registered, ...]
    value: t.Any

    def of(self, type_: str) -> dict[str, Registered]:
        """Those whose type ends so, by name."""
        return {each.name: each for each in self.found if each.type.endswith(type_)}

    def named(self, name: str) -> Registered:
        (one,) = (each for each in self.found if each.name == name and each.type != "pulumi:pulumi:Stack")
        return one


Run = t.Callable[[t.Callable[[], t.Any]], Ran]


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs a program. What Pulumi keeps of a program, its root above all, it keeps in context variables."""
    return lambda program: contextvars.copy_context().run(_ran, program)


def _ran(program: t.Callable[[], t.Any]) -> Ran:
    recorder, value = Recorder(), []
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        # A pool of its own, for the default one outlives the loop.
        with ThreadPoolExecutor(max_workers=4) as pool:
            loop.set_default_executor(pool)
            pulumi.runtime.set_mocks(_Yes(), project="gitops-fleet", stack="test", monitor=recorder)
            pulumi.runtime.test(lambda: pulumi.Output.from_input(program()).apply(value.append))()
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return Ran(tuple(recorder.found), value[0])
