# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytecode of this collection kept in ``__pycache__``, as Python does with all other packages: ansible-core's own
loader of collections compiles each file anew for each task, which is a third of what a small task costs.

Private to this collection.
"""

from __future__ import annotations

import sys
import typing as t
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType

# ``ansible_collections.gitops.fleet.plugins.``
PLUGINS = __name__.removesuffix("plugin_utils._bytecode")
# In ansible.utils.collection_loader.
FINDER = "_AnsibleCollectionFinder"
# What plugins import; the plugins themselves are ansible-core's to find.
IMPORTED = (f"{PLUGINS}module_utils.", f"{PLUGINS}plugin_utils.")


class KeptBytecode:
    """Finds what is imported from this collection where ansible-core looks for it, too; what it does not find there,
    ansible-core is asked for."""

    @staticmethod
    def find_spec(
        fullname: str, path: t.Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A file of ours, for Python's own loader, which keeps bytecode in ``__pycache__`` where that can be written;
        None for any other module. ``path`` are the folders of the package that it is in."""
        if not fullname.startswith(IMPORTED):
            return None
        specs = (_finder(folder).find_spec(fullname, target) for folder in path or ())
        return next((spec for spec in specs if spec and spec.loader), None)


def keep_bytecode() -> None:
    """From now on ``KeptBytecode`` is asked before ansible-core's finder of collections, if there is one; a second call
    changes nothing."""
    places = [place for place, each in enumerate(sys.meta_path) if type(each).__name__ == FINDER]
    if places and KeptBytecode not in sys.meta_path:
        sys.meta_path.insert(places[0], KeptBytecode)


@cache
def _finder(folder: str) -> FileFinder:
    return FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))
