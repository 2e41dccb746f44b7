# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of ``kind`` as a resource. Kind changes no cluster: whatever is other about it makes another one of it.

Its commands and its configuration are tested with a script in kind's place; with kind itself this was not run by us.
"""

from __future__ import annotations

import contextlib
import subprocess
import typing as t
from pathlib import Path

import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    Resource,
    ResourceProvider,
    UpdateResult,
)

from .collection import make_importable
from .engine_gone import end_with_engine
from .kind_commands import LIST, WAIT, KindSpec

Properties = dict[str, t.Any]
_REPLACING = ("name", "image", "port", "workers")
_MOST = 2_000
# What kind says of a name that is taken.
_EXISTS = "already exist"


class KindClusterProvider(ResourceProvider):
    """Nothing of a key passes through it: the kubeconfig is a file (mode 0600), and the state has its path."""

    serialize_as_secret_always = False

    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        """The inputs as they are; a failure if ``kind`` cannot be run."""
        end_with_engine()
        try:
            _names()
        except RuntimeError as error:
            return CheckResult(news, [CheckFailure("", str(error))])
        return CheckResult(news, [])

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """One that is gone, or its kubeconfig, is made again without a refresh; that may lie elsewhere from now on. Its
        port is free only when the old one has gone."""
        replaces = [name for name in _REPLACING if olds.get(name) != news.get(name)]
        lost = news["name"] not in _names() or not Path(news["kubeconfig"]).is_file()
        changes = bool(replaces) or lost or olds.get("kubeconfig") != news["kubeconfig"]
        return DiffResult(changes=changes, replaces=replaces, delete_before_replace=True)

    def create(self, props: Properties) -> CreateResult:
        """Makes the cluster; one that a killed run left half made is made anew. RuntimeError if kind fails, or one of
        that name is not of this stack; FleetError ``busy``."""
        spec = _spec(props)
        with _alone(spec):
            return CreateResult(spec.name, _made(spec))

    def read(self, id_: str, props: Properties) -> ReadResult:
        """What is known of it; an empty id if kind has no such cluster any more."""
        return ReadResult(id_ if props["name"] in _names() else "", dict(props))

    def update(self, _id: str, olds: Properties, news: Properties) -> UpdateResult:
        """Makes one that is gone anew, empty. Of one that is there only the kubeconfig is written again, and taken away
        where it lay before."""
        spec, before = _spec(news), Path(olds.get("kubeconfig") or news["kubeconfig"])
        with _alone(spec):
            whole = spec.name in _names() and not _mark(spec).exists()
            found = _exported(spec) if whole else _made(spec)
            if before != Path(spec.kubeconfig):
                before.unlink(missing_ok=True)
            return UpdateResult(found)

    def delete(self, _id: str, props: Properties) -> None:
        """Deletes the cluster and its kubeconfig; one that is gone is fine. RuntimeError if kind fails."""
        spec = _spec(props)
        with _alone(spec):
            _run(spec.delete_command())
            Path(spec.kubeconfig).unlink(missing_ok=True)


class KindCluster(Resource, module="fleet", name="KindCluster"):
    """``kubeconfig`` is the path of the administrator's."""

    kubeconfig: pulumi.Output[str]
    context: pulumi.Output[str]

    def __init__(self, resource_name: str, spec: KindSpec, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(KindClusterProvider(), resource_name, {**vars(spec), "context": None}, opts)


def _spec(props: Properties) -> KindSpec:
    """Numbers are whole again, for the engine knows floats only."""
    numbers = {"port": int(props["port"]), "workers": int(props["workers"])}
    return KindSpec(name=props["name"], image=props["image"], kubeconfig=props["kubeconfig"], **numbers)


@contextlib.contextmanager
def _alone(spec: KindSpec) -> t.Iterator[None]:
    """One run of this user at a time works on a cluster of that name, from whatever stack and folder: kind knows names
    only. FleetError ``busy``."""
    make_importable()
    from ansible_collections.gitops.fleet.plugins.module_utils._local.locks import locked
    from ansible_collections.gitops.fleet.plugins.module_utils._local.state import default_root

    with locked(default_root() / ".locks" / f"kind-{spec.name}", timeout=4 * WAIT):
        yield


def _made(spec: KindSpec) -> Properties:
    """A mark beside the kubeconfig says that a cluster of that name is ours, and not whole: its maker was killed."""
    place, mark = Path(spec.kubeconfig), _mark(spec)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if spec.name in _names():
        if not mark.exists():
            raise RuntimeError(
                f"there is a kind cluster {spec.name} that is not of this stack: delete it, or rename ours"
            )
        _run(spec.delete_command())
    mark.touch()
    try:
        _run(spec.create_command(), spec.configuration())
    except RuntimeError as error:
        if _EXISTS not in str(error):  # else it is somebody's who was faster
            _run(spec.delete_command())
        mark.unlink(missing_ok=True)
        raise
    place.chmod(0o600)
    mark.unlink(missing_ok=True)
    return _outputs(spec)


def _exported(spec: KindSpec) -> Properties:
    place = Path(spec.kubeconfig)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _run(spec.export_command())
    place.chmod(0o600)
    return _outputs(spec)


def _mark(spec: KindSpec) -> Path:
    place = Path(spec.kubeconfig)
    return place.with_name(f".{place.name}.making")


def _outputs(spec: KindSpec) -> Properties:
    return {**vars(spec), "context": spec.context}


def _names() -> list[str]:
    return _run(LIST).split()


def _run(command: list[str], given: str = "") -> str:
    """Its standard output; RuntimeError, which the engine shows in one sentence."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=2 * WAIT)
    except FileNotFoundError:
        raise RuntimeError("kind is not on the PATH: https://kind.sigs.k8s.io/docs/user/quick-start") from None
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(command[:3])} was not done after {2 * WAIT} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr.strip()[-_MOST:]}")
    return done.stdout
