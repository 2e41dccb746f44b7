# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``statusReportingScope: NamespaceAccessible``: the status of a placement (ClusterResourcePlacementStatus) in the
namespace that it selects on the hub, written, compared or removed.

It is read by people who may look into that namespace only. Records in a file have no such place: nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...._core.errors import FleetError
from ...._core.objects.api_groups import PLACEMENT_API
from ...._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement, PlacementStatus
from ...._core.plan.reported.synced import with_synced, without_synced
from ...._core.schema.codec import encode
from ...._core.values.instants import SECONDS, write_time
from ...._store.records import Lease, Records
from ..recorded import Document

KIND = "ClusterResourcePlacementStatus"


@dataclass(frozen=True, kw_only=True)
class StatusInNamespace:
    """The copy of one placement's status, called ``name`` as that is. ``namespace`` is empty where there is to be
    none."""

    records: Records
    name: str
    namespace: str

    @classmethod
    def of(cls, records: Records, on_hub: bool, placement: ClusterResourcePlacement) -> StatusInNamespace:
        """That of a placement; without a namespace where its records are not ``on_hub``, or it does not ask for a copy.
        A copy stays where it stands, also where the placement has come to select another namespace
        (``reporting-namespace-changed``)."""
        namespace = placement.status_namespace or placement.reporting_namespace
        return cls(records=records, name=placement.name, namespace=namespace if on_hub else "")

    def expected(
        self, status: PlacementStatus, previous: PlacementStatus, generation: int, now: datetime
    ) -> PlacementStatus:
        """The placement's status with a condition that says whether the copy is as it should be; as it is without a
        namespace. ``previous`` and ``generation`` are as of ``with_synced``. Writes nothing. FleetError of the
        records."""
        if not self.namespace:
            return status
        failed = "" if self._says(status) else "it is another one there"
        return with_synced(status, previous, self.namespace, failed, generation, now)

    def write(
        self, status: PlacementStatus, previous: PlacementStatus, generation: int, now: datetime, lease: Lease
    ) -> tuple[PlacementStatus, FleetError | None]:
        """Writes the copy if it is not as it should be, with ``now``; the placement's status with a condition of that,
        and why the copy could not be written, None if it could. Without a namespace the status as it is. FleetError
        ``lease-lost`` alone."""
        if not self.namespace:
            return status, None
        failed: FleetError | None = None
        try:
            self._write(status, now, lease)
        except FleetError as error:
            if error.code == "lease-lost":
                raise
            failed = error
        told = failed.message if failed else ""
        return with_synced(status, previous, self.namespace, told, generation, now), failed

    def remove(self, lease: Lease) -> None:
        """Deletes the copy, if there is to be one; absent is fine. FleetError of the records."""
        if self.namespace:
            self.records.delete(KIND, f"{self.namespace}/{self.name}", lease=lease)

    def _says(self, status: PlacementStatus) -> bool:
        """Whether the copy says this status, the condition about the copy aside. FleetError of the records."""
        old = self._read()
        return old is not None and old.get("sourceStatus") == encode(without_synced(status))

    def _read(self) -> Document | None:
        """The copy's record; None if there is none. FleetError of the records."""
        return self.records.get(KIND, f"{self.namespace}/{self.name}")

    def _write(self, status: PlacementStatus, now: datetime, lease: Lease) -> None:
        """Creates or replaces the copy, unless it says this status already. FleetError of the records."""
        old, wanted = self._read(), encode(without_synced(status))
        if old is not None and old.get("sourceStatus") == wanted:
            return
        content = {"sourceStatus": wanted, "lastUpdatedTime": write_time(now, SECONDS)}
        if old is not None:
            self.records.replace({**old, **content}, lease)
            return
        metadata = {"name": self.name, "namespace": self.namespace}
        self.records.create({"apiVersion": PLACEMENT_API, "kind": KIND, "metadata": metadata, **content}, lease)
