# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which way binaries (of control planes, of Pulumi) will come, from the cache, downloaded or built, how many MB, and
about how long that takes, told in a line before anything is done.

``python -m ansible_collections.gitops.fleet.plugins.module_utils._local.provisioning FAMILY...`` tells it in one line.
"""

from __future__ import annotations

import os
import sys
import typing as t
from pathlib import Path

from .._core.errors import FleetError
from .._core.values.listed import number_of
from .binaries import Places, any_build, cache_root, places_of, usable_folder
from .recipes import Recipe, recipe
from .released.downloads import server
from .released.offers import SETTING, megabytes, why_not_asked

LINE = 50  # Mbit/s, of the line that a time is told for
# Minutes of a build on two cores, with the modules to be fetched: about, and for all that shares them.
_BUILD: t.Mapping[str, int] = {"kubernetes": 7, "karpenter": 3, "pulumi": 5}
_OTHERS = 1


def provisioning_line(chosen: t.Iterable[Recipe], cache: Path | None = None) -> str:
    """How those binaries of the recipes that the cache lacks will come, downloaded or built, and about how long that
    takes, for people, or that they are in the cache. What keeps release files away is told as the reason of a build.

    No binary is fetched; modes of files in the cache are mended as of ``kept_builds.build_fault``. Servers are asked
    for sizes at the most; one that is out of reach is left alone for ``offers.REST`` seconds by whoever looks for
    binaries, by a note in the cache. Errors as of ``binaries.places_of`` and ``binaries.usable_folder``, FleetError
    ``unwritable-folder`` for that note, RuntimeError where no thread can start.
    """
    root = cache or cache_root()
    lacking = [
        each for each in (places_of(one, root) for one in chosen) if usable_folder(each, each.recipe.names) is None
    ]
    asked = [(each, _offered(each)) for each in lacking]
    missing = [(each, size) for each, size in asked if isinstance(size, int) or not _serves_without_go(each)]
    if not missing:
        return "The binaries are in the cache."
    sizes = [size for _each, size in missing]
    built = [each for each, size in missing if not isinstance(size, int)]
    told = []
    if len(built) < len(missing):
        size = sum(each for each in sizes if isinstance(each, int))
        told.append(f"{size} MB of the publishers' release files, {_time(size * 8 / LINE)} at {LINE} Mbit/s")
    if built:
        told.append(_told_build(built, next((each for each in sizes if isinstance(each, str) and each), "")))
    return f"The first time: {', and '.join(told)}."


def _offered(places: Places) -> int | str:
    """Megabytes of its release files, or why they cannot be had; empty where there never are any. FleetError
    ``unwritable-folder``; RuntimeError where no thread can start."""
    if places.offered is None:
        return f"{SETTING} is off" if server(os.environ.get(SETTING, "")) is None else ""
    try:
        return why_not_asked(places.offered) or megabytes(places.offered)
    except FleetError as error:
        if not error.code.startswith("release-"):
            raise
        return error.message


def _serves_without_go(places: Places) -> bool:
    """Whether there is no Go, and the cache has what is used then. FleetError as of ``binaries.usable_folder``."""
    if places.go is not None:
        return False
    try:
        any_build(places.recipe, places.root, places.recipe.names)
    except FleetError as error:
        if error.code not in ("go-missing", "damaged-binary"):
            raise
        return False
    return True


def _told_build(built: t.Sequence[Places], why: str) -> str:
    """The words for a build of these; ``why`` is why there are no release files, empty where that is not to be told."""
    names = ", ".join(f"{each.recipe.product} {each.recipe.version}" for each in built)
    minutes = sum(_BUILD.get(each.recipe.product, _OTHERS) for each in built)
    go = "" if all(each.go for each in built) else "; the go command is not on the PATH, so install Go first"
    because = f" ({why})" if why else ""
    return f"a build of {names} from Go modules, about {number_of(minutes, 'minute')} on two cores{because}{go}"


def _time(seconds: float) -> str:
    """A time in words: ``about 2 minutes`` from 90 seconds on, else ``about 20 s``."""
    return f"about {seconds / 60:.0f} minutes" if seconds >= 90 else f"about {max(1, round(seconds))} s"


def main(families: t.Sequence[str]) -> int:
    # pylint: disable=ansible-bad-function  # a command, which prints
    """Prints ``provisioning_line`` of these families. The exit status: 0, or 1 with the FleetError on standard error;
    other errors come through."""
    try:
        print(provisioning_line([recipe(each) for each in families]))
    except FleetError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))  # pylint: disable=ansible-bad-function  # a command, which has an exit code
