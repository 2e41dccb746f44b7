# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows that live on clusters: read from an annotation, or asked of a command of the platform
(``maintenance-unread``); these commands out of the option ``maintenance_commands``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.cluster.facts.maintenance import IN_ANNOTATION, cluster_maintenance
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_maintenance import ClusterMaintenance
from ..._core.objects.clusters.fleet_member import FleetMember
from ..drivers.choosing import placeholders_of
from ..drivers.environment import environment_passed_on
from ..drivers.placeholders import environment_of, filled_arguments
from ..drivers.started import Started
from .members import Clients

SECONDS = 60.0
# What the tools of clouds log in with.
CREDENTIALS = ("AZURE_*", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_*", "AWS_*", "CLOUDSDK_*", "GOOGLE_*")


@dataclass(frozen=True, kw_only=True)
class MaintenanceCommands:
    """By provider of the member a list of arguments that prints its windows as JSON, with ``{member}``, ``{location}``
    and ``{group}`` filled in; it is run without a shell, with the variables of ``environ`` that are in
    ``environment.KEPT`` or CREDENTIALS."""

    by_provider: t.Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environ: t.Mapping[str, str] = field(default_factory=dict, repr=False)

    def ask(self, member: FleetMember, clients: Clients) -> ClusterMaintenance | None:
        """The windows of a member whose client is open, by its command, which has ``SECONDS``, or its annotation; None
        without either. FleetError ``maintenance-unread``, ``unsafe-argument`` where what the FleetMember says would
        become an option or words of a script, and as of ``cluster_maintenance``."""
        argv = self.by_provider.get(member.spec.provider)
        if not argv:
            return annotated(member.name, clients)
        known = placeholders_of(member)
        environ = environment_passed_on(self.environ, CREDENTIALS) | environment_of(known)
        child = Started(filled_arguments(argv, known), environ, "maintenance-unread", member.name)
        done = child.wait_for_end(SECONDS)
        if done is None:
            child.kill()
            words_of = f"{child.program} gave no answer within {SECONDS:g} s"
            raise FleetError("maintenance-unread", words_of, member.name)
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            message = f"{child.program} ended with {done.returncode}: {''.join(said)}"
            raise FleetError("maintenance-unread", message, member.name)
        return cluster_maintenance(done.stdout, f"told by {child.program}", member.name)


ANNOTATIONS = MaintenanceCommands()


def annotated(name: str, clients: Clients) -> ClusterMaintenance | None:
    """What the annotation of a member, whose client is open, says; None without one. FleetError ``maintenance-unread``
    if it could not be read, and as of ``cluster_maintenance``."""
    words = clients.identities.maintenance.get(name)
    if words is None:
        raise FleetError("maintenance-unread", "its namespace kube-system may not be read", name)
    return cluster_maintenance(words, IN_ANNOTATION, name) if words else None


def commands_of(given: t.Any, environ: t.Mapping[str, str]) -> MaintenanceCommands:
    """The commands of an option, by provider; without any for None or an empty mapping. FleetError ``bad-option`` for
    each that is no list of texts with a program first."""
    problems = []
    for provider, argv in (given or {}).items():
        fits = isinstance(argv, (list, tuple)) and argv and all(isinstance(each, str) for each in argv)
        if not fits or not argv[0]:
            words = "a list of arguments is wanted, the program first"
            problems.append(Problem("bad-option", words, f"maintenance_commands.{provider}"))
    if problems:
        raise FleetError.of(problems)
    return MaintenanceCommands(by_provider={key: tuple(argv) for key, argv in (given or {}).items()}, environ=environ)
