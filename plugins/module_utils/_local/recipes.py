# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is built: a recipe for each family of binaries (Kubernetes, etcd, kwok, Karpenter, Pulumi), a tools module with
its own ``go.mod`` and ``go.sum``: version, programs, build flags; which recipe fits a version (``unknown-version``,
``unknown-family``), its key in the cache.

Kubernetes, etcd and kwok pin different versions of the same libraries, so they never share a module: minimal version
selection would lift them all to combinations that nobody has tested.
"""

from __future__ import annotations

import hashlib
import json
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from .._core.errors import FleetError
from .._core.values.kube_version import KubeVersion

FILES = Path(__file__).resolve().parents[3] / "roles" / "local_fleet" / "files"
# -s -w: no symbol table, no debugging data; a third smaller on disk.
_STRIPPED = ("-s", "-w")
BUILD_FLAGS = ("-trimpath", "-buildvcs=false")
BUILD_ENVIRONMENT = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}


@dataclass(frozen=True)
class Recipe:
    """One family. ``programs`` maps the name of a binary to its Go main package, in the order of building.

    ``shipped`` are folders of the module of which the binaries need the YAML and JSON files beside them, by the name
    they get there; ``scripts`` are executable files of modules, by theirs: (module, path in it). ``sources`` are Go
    files of ours, beside ``go.mod``. Programs of ``beside`` go into the same folder.
    """

    family: str
    product: str
    module: str
    version: str
    programs: t.Mapping[str, str]
    ldflags: tuple[str, ...] = _STRIPPED
    shipped: t.Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    scripts: t.Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    beside: tuple[Recipe, ...] = ()

    @property
    def parts(self) -> tuple[Recipe, ...]:
        """This recipe and all that is built into its folder."""
        return (self, *self.beside)

    @property
    def names(self) -> tuple[str, ...]:
        """Every binary of the folder, in the order of building."""
        return tuple(name for part in self.parts for name in part.programs)


def _kubernetes(version: str, *names: str) -> Recipe:
    """The recipe of a patch level (``1.36.3``) with the programs ``names``. Version stamps go into both packages that
    carry one, or ``/version`` answers v0.0.0 and clients fail on it; the commit and the date of a release are not known
    here."""
    found = KubeVersion.parse(version)
    stamps = {
        "gitVersion": f"v{version}",
        "gitMajor": str(found.major),
        "gitMinor": str(found.minor),
        "gitTreeState": "clean",
        "gitCommit": "",
        "buildDate": "",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    flags = tuple(f"-X={package}.{name}={value}" for package in packages for name, value in stamps.items())
    return Recipe(
        family=f"kubernetes-{found.major}.{found.minor}",
        product="kubernetes",
        module="k8s.io/kubernetes",
        version=version,
        programs={name: f"k8s.io/kubernetes/cmd/{name}" for name in names},
        ldflags=_STRIPPED + flags,
    )


_PULUMI = "github.com/pulumi/pulumi"
_PULUMI_VERSION = "-X=github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v"


def _pulumi(version: str, host: str) -> Recipe:
    """The recipe of the engine, and of what it starts Python programs with, which it looks for in its own folder.

    Today's language host is in a module that the Go proxy does not have: ``host`` is a version of the SDK that still
    holds one. The version is stamped, for clients ask for it.
    """
    sdk = f"{_PULUMI}/sdk/v3"
    name = "pulumi-language-python"
    stamp = (*_STRIPPED, f"{_PULUMI_VERSION}{version}")
    language = Recipe(name, name, sdk, host, {name: f"{sdk}/python/cmd/{name}"}, stamp)
    return Recipe(
        "pulumi",
        "pulumi",
        f"{_PULUMI}/pkg/v3",
        version,
        {"pulumi": f"{_PULUMI}/pkg/v3/cmd/pulumi"},
        stamp,
        tags=("osusergo", "grpcnotrace"),
        scripts={
            "pulumi-language-python-exec": (sdk, "python/cmd/pulumi-language-python-exec"),
            "pulumi-resource-pulumi-python": (sdk, "python/dist/pulumi-resource-pulumi-python"),
        },
        beside=(language,),
    )


def _karpenter(version: str) -> Recipe:
    """The recipe of Karpenter with the provider that makes simulated nodes; with its own CRDs, the provider's, and what
    types there are. Its main package is ours: upstream's listens on every address of the machine and tells no
    version."""
    name = "karpenter"
    return Recipe(
        name,
        name,
        "sigs.k8s.io/karpenter",
        version,
        {name: "gitops.fleet/local/karpenter"},
        (*_STRIPPED, f"-X=sigs.k8s.io/karpenter/pkg/operator.Version={version}"),
        shipped={
            "crds/core": "pkg/apis/crds",
            "crds/kwok": "kwok/apis/crds",
            "instance-types": "kwok/cloudprovider",
        },
        sources=("main.go",),
    )


# In the order of building: the small ones prove at once that Go and its proxy work; the older minor comes last, because
# only upgrades need it. Karpenter is for its own profile, the engine of Pulumi for environments alone.
RECIPES: tuple[Recipe, ...] = (
    Recipe("etcd", "etcd", "go.etcd.io/etcd/server/v3", "3.6.14", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Recipe(
        "kwok",
        "kwok",
        "sigs.k8s.io/kwok",
        "0.8.0",
        {"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
        shipped={
            f"stages/{name}": f"kustomize/stage/{name}"
            for name in ("node/fast", "node/heartbeat-with-lease", "pod/fast")
        },
    ),
    _kubernetes("1.36.3", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    _kubernetes("1.35.4", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    _karpenter("1.14.1"),
    _pulumi("3.259.0", host="3.75.0"),
)


def recipe(family: str) -> Recipe:
    """The recipe of a family; FleetError ``unknown-family``."""
    for one in RECIPES:
        if one.family == family:
            return one
    names = ", ".join(one.family for one in RECIPES)
    raise FleetError("unknown-family", f"there is no recipe for {family!r}", hint=f"families: {names}")


def kubernetes_recipe(version: str) -> Recipe:
    """The first of the recipes that is for ``1.36`` (any patch level), or exactly ``1.36.3``. FleetError
    ``unknown-version``; ValueError for a text that is no version."""
    known = [one for one in RECIPES if one.product == "kubernetes"]
    for one in known:
        if matches(version, one.version):
            return one
    raise FleetError(
        "unknown-version",
        f"Kubernetes {version} cannot be built here",
        hint=f"versions with a recipe: {', '.join(one.version for one in known)}; others by a folder of ready binaries",
    )


def matches(wanted: str, version: str) -> bool:
    """Whether ``version`` is what was asked for: a minor (``1.36``, without a suffix) leaves the patch level open.
    ValueError for a text that is no version."""
    asked, found = KubeVersion.parse(wanted), KubeVersion.parse(version)
    if wanted.partition(".")[2].isdigit():
        return (asked.major, asked.minor) == (found.major, found.minor)
    return asked == found


def cache_key(one: Recipe, go: t.Mapping[str, str], files: Path = FILES) -> str:
    """16 hex digits of SHA-256 over everything that determines the binaries: ``go`` is what ``go env`` tells of the
    compiler and its target (GOVERSION, GOOS ...), empty for a key without them; ``files`` has a folder for each family.
    OSError if files of the recipe cannot be read."""
    inputs = {
        "module": [one.module, one.version],
        "programs": dict(one.programs),
        "shipped": dict(one.shipped),
        "ldflags": one.ldflags,
        "flags": BUILD_FLAGS,
        "environment": BUILD_ENVIRONMENT,
        "go": dict(go),
        "go.mod": hashlib.sha256((files / one.family / "go.mod").read_bytes()).hexdigest(),
        "go.sum": hashlib.sha256((files / one.family / "go.sum").read_bytes()).hexdigest(),
    }
    # Only where there are any: keys of recipes that know nothing of them stay what they were.
    more = {
        "tags": one.tags,
        "scripts": dict(one.scripts),
        "sources": {name: hashlib.sha256((files / one.family / name).read_bytes()).hexdigest() for name in one.sources},
        "beside": [cache_key(each, go, files) for each in one.beside],
    }
    inputs |= {name: value for name, value in more.items() if value}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
