# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the stack that is worked on, from its configuration."""

from __future__ import annotations

import os
import typing as t
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pulumi
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.files import with_home
from ansible_collections.gitops.fleet.plugins.module_utils._local.state import default_root

from .settings import Settings, read_settings

_TEXTS = ("backend", "ports")
_FLAGS = ("protect", "skipUnreachable", "takeOver")
_OBJECTS = ("hub", "members", "placedKinds", "applications", "updateStrategies")


def stack_owner(stack: str, environ: t.Mapping[str, str]) -> str:
    """The stack with its project, organization and, as far as ``PULUMI_BACKEND_URL`` tells it, the place of its state,
    without what may be secret: what tells it from others of its name. Who is logged in otherwise does not tell."""
    name = f"stack {stack} of project {pulumi.get_organization()}/{pulumi.get_project()}"
    try:
        parts = urlsplit(environ.get("PULUMI_BACKEND_URL") or "")
    except ValueError:
        return name
    if parts.scheme == "file":
        place = os.path.realpath(os.path.expanduser(unquote(parts.netloc + parts.path)))
    else:
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    return f"{name} in {place}" if parts.scheme else name


def settings() -> Settings:
    """The settings of the current stack. RunError, which the engine shows without a traceback, with all that is wrong
    in the configuration."""
    config, stack = pulumi.Config(), pulumi.get_stack()
    folder = config.get("folder") or str(default_root(os.environ).parent / "environments" / stack)
    raw: dict[str, t.Any] = {name: config.get(name) for name in _TEXTS}
    try:
        place = with_home(folder, os.environ)
        if place.startswith("~"):
            raise FleetError("bad-config", f"there is no home for {folder!r:.200}", "folder", "write the whole path")
        raw |= {name: config.get_object(name) for name in _OBJECTS}
        raw["tokenDays"] = config.get_int("tokenDays")
        raw |= {name: config.get_bool(name) for name in _FLAGS}
        return replace(read_settings(stack, Path(place).absolute(), raw), owner=stack_owner(stack, os.environ))
    except (FleetError, pulumi.ConfigTypeError) as error:
        raise pulumi.RunError(f"the configuration of stack {stack} is refused: {error}") from None
