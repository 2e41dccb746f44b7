# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Karpenter's node classes field by field (images, disks, subnets, kubelet), as their published definitions have them:
``EC2NodeClass`` of karpenter.k8s.aws/v1 and ``AKSNodeClass`` of karpenter.azure.com/v1beta1."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...schema.meta import EMPTY
from ...schema.prop import prop
from .node_class_parts import (
    RESOURCE_ID,
    SIZE,
    SWITCH,
    TERM_TAGS,
    AksLinux,
    AksLocalDns,
    Ec2ConnectionTracking,
    Ec2CpuOptions,
    Ec2NetworkInterface,
    Ec2PlacementGroup,
    Ec2ReservationTerm,
)

AMI_FAMILIES = ("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")
VOLUME_TYPES = ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")
MAX_TERMS = 30
_AMOUNT = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?"
_THRESHOLD: dict[str, t.Any] = {
    "pattern": rf"([0-9]{{1,2}}(\.[0-9]{{1,2}})?|100(\.0{{1,2}})?)%|([+-]?{_AMOUNT})?",
    "form": "a percentage such as 5% or an amount such as 500Mi",
}
_RESERVED: dict[str, t.Any] = {"pattern": rf"\+?{_AMOUNT}", "form": "an amount such as 100m or 1Gi, not below zero"}
# The last two may lack their number, as in the published form, and not every number of Ti is in that.
_VOLUME_SIZES = (
    r"([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi",
    r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G",
    r"([1-9]|[1-5][0-7]|58)?Ti",
    r"([1-9]|[1-5][0-9]|6[0-4])?T",
)


def _id_with(start: str) -> dict[str, t.Any]:
    """Details of a ``prop`` for an id that has ``start``, anywhere in it, with a digit or lower-case letter behind."""
    return {"matches": re.compile(f"{start}[0-9a-z]").search, **RESOURCE_ID}


@dataclass(frozen=True, kw_only=True)
class Ec2AmiTerm:
    alias: str | None = prop(
        "Family and version.",
        default=None,
        max_length=30,
        pattern=r"(al2|al2023|bottlerocket)@.+|(windows2019|windows2022|windows2025)@latest(@.*)?",
        form="a family and a version, such as al2023@latest; of Windows latest alone",
    )
    id: str | None = prop("Image.", default=None, **_id_with("ami-"))
    name: str | None = prop("Name.", default=None)
    owner: str | None = prop("Owner.", default=None)
    ssm_parameter: str | None = prop("Parameter.", default=None)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, **TERM_TAGS)


@dataclass(frozen=True, kw_only=True)
class Ec2SubnetTerm:
    id: str | None = prop("Subnet.", default=None, **_id_with("subnet-"))
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, **TERM_TAGS)


@dataclass(frozen=True, kw_only=True)
class Ec2SecurityGroupTerm:
    id: str | None = prop("Group.", default=None, **_id_with("sg-"))
    name: str | None = prop("Name.", default=None)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, **TERM_TAGS)


@dataclass(frozen=True, kw_only=True)
class Ec2Volume:
    delete_on_termination: bool | None = prop("Deleted with the machine.", default=None)
    encrypted: bool | None = prop("Encrypted.", default=None)
    iops: int | None = prop("Operations a second.", default=None)
    kms_key_id: str | None = prop("Key.", json="kmsKeyID", default=None)
    snapshot_id: str | None = prop("Snapshot.", json="snapshotID", default=None)
    throughput: int | None = prop("MiB a second.", default=None)
    volume_initialization_rate: int | None = prop("MiB a second.", default=None, minimum=100, maximum=300)
    volume_size: str | None = prop(
        "Size.", default=None, pattern="|".join(_VOLUME_SIZES), form="a size such as 100Gi or 1Ti, up to 59000Gi"
    )
    volume_type: str | None = prop("Type.", default=None, enum=VOLUME_TYPES)


@dataclass(frozen=True, kw_only=True)
class Ec2BlockDevice:
    device_name: str | None = prop("Name.", default=None)
    ebs: Ec2Volume | None = prop("Volume.", default=None)
    root_volume: bool | None = prop("Whether it is the first.", default=None)


@dataclass(frozen=True, kw_only=True)
class Ec2Kubelet:
    cluster_dns: tuple[str, ...] = prop("Name servers.", json="clusterDNS", default=())
    cpu_cfs_quota: bool | None = prop("CPU limits are enforced.", json="cpuCFSQuota", default=None)
    eviction_hard: t.Mapping[str, str] = prop("Limits.", default=EMPTY, **_THRESHOLD)
    eviction_max_pod_grace_period: int | None = prop("Seconds.", default=None)
    eviction_soft: t.Mapping[str, str] = prop("Limits.", default=EMPTY, **_THRESHOLD)
    eviction_soft_grace_period: t.Mapping[str, str] = prop("Durations.", default=EMPTY)
    image_gc_high: int | None = prop(
        "Percent.", json="imageGCHighThresholdPercent", default=None, minimum=0, maximum=100
    )
    image_gc_low: int | None = prop("Percent.", json="imageGCLowThresholdPercent", default=None, minimum=0, maximum=100)
    kube_reserved: t.Mapping[str, str] = prop("Kept for Kubernetes.", default=EMPTY, **_RESERVED)
    max_pods: int | None = prop("Pods.", default=None, minimum=0)
    pods_per_core: int | None = prop("Pods.", default=None, minimum=0)
    system_reserved: t.Mapping[str, str] = prop("Kept for the system.", default=EMPTY, **_RESERVED)


@dataclass(frozen=True, kw_only=True)
class Ec2MetadataOptions:
    http_endpoint: str | None = prop("Endpoint.", default=None, enum=SWITCH)
    http_protocol: str | None = prop("IPv6.", json="httpProtocolIPv6", default=None, enum=SWITCH)
    http_put_response_hop_limit: int | None = prop("Hops.", default=None, minimum=1, maximum=64)
    http_tokens: str | None = prop("Tokens.", default=None, enum=("required", "optional"))


@dataclass(frozen=True, kw_only=True)
class Ec2NodeClassSpec:
    ami_family: str | None = prop("Family.", default=None, enum=AMI_FAMILIES)
    ami_selector_terms: tuple[Ec2AmiTerm, ...] = prop("Images.", min_items=1, max_items=MAX_TERMS)
    public_address: bool | None = prop("Public address.", json="associatePublicIPAddress", default=None)
    block_device_mappings: tuple[Ec2BlockDevice, ...] = prop("Disks.", default=(), max_items=50)
    capacity_reservation_selector_terms: tuple[Ec2ReservationTerm, ...] = prop(
        "Reservations.", default=(), max_items=MAX_TERMS
    )
    connection_tracking: Ec2ConnectionTracking | None = prop("Timeouts.", default=None)
    context: str | None = prop("Context.", default=None)
    cpu_options: Ec2CpuOptions | None = prop("Processor.", default=None)
    detailed_monitoring: bool | None = prop("Monitoring.", default=None)
    instance_profile: str | None = prop("Profile.", default=None, min_length=1)
    instance_store_policy: str | None = prop("Local disks.", default=None, enum=("RAID0",))
    ip_prefix_count: int | None = prop("Prefixes.", default=None, minimum=0)
    kubelet: Ec2Kubelet | None = prop("Kubelet.", default=None)
    metadata_options: Ec2MetadataOptions | None = prop("Metadata service.", default=None)
    network_interfaces: tuple[Ec2NetworkInterface, ...] = prop("Interfaces.", default=(), max_items=150)
    placement_group_selector: Ec2PlacementGroup | None = prop("Placement group.", default=None)
    role: str | None = prop("Role.", default=None, min_length=1)
    security_group_selector_terms: tuple[Ec2SecurityGroupTerm, ...] = prop("Groups.", min_items=1, max_items=MAX_TERMS)
    subnet_selector_terms: tuple[Ec2SubnetTerm, ...] = prop("Subnets.", min_items=1, max_items=MAX_TERMS)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY)
    user_data: str | None = prop("Script.", default=None)


@dataclass(frozen=True, kw_only=True)
class AksTrustedLaunch:
    secure_boot: bool | None = prop("Secure boot.", default=None)
    vtpm: bool | None = prop("Virtual TPM.", default=None)


@dataclass(frozen=True, kw_only=True)
class AksSecurity:
    encryption_at_host: bool | None = prop("Encrypted on the host.", default=None)
    trusted_launch: AksTrustedLaunch | None = prop("Trusted launch.", default=None)


@dataclass(frozen=True, kw_only=True)
class AksGpu:
    mode: str | None = prop("Driver.", default=None, enum=("Driver", "None"))


@dataclass(frozen=True, kw_only=True)
class AksArtifactStreaming:
    enabled: bool | None = prop("Whether images are streamed.", default=None)


@dataclass(frozen=True, kw_only=True)
class AksKubelet:
    allowed_unsafe_sysctls: tuple[str, ...] = prop("Names.", default=())
    container_log_max_files: int | None = prop("Files.", default=None, minimum=2)
    container_log_max_size: str | None = prop("Size.", default=None, **SIZE)
    cpu_cfs_quota: bool | None = prop("CPU limits are enforced.", json="cpuCFSQuota", default=None)
    cpu_cfs_quota_period: str | None = prop("Period.", json="cpuCFSQuotaPeriod", default=None)
    cpu_manager_policy: str | None = prop("Policy.", default=None, enum=("none", "static"))
    fail_swap_on: bool | None = prop("Whether swap is refused.", default=None)
    image_gc_high: int | None = prop(
        "Percent.", json="imageGCHighThresholdPercent", default=None, minimum=0, maximum=100
    )
    image_gc_low: int | None = prop("Percent.", json="imageGCLowThresholdPercent", default=None, minimum=0, maximum=100)
    pod_pids_limit: int | None = prop("Processes.", default=None)
    topology_manager_policy: str | None = prop(
        "Policy.", default=None, enum=("restricted", "best-effort", "none", "single-numa-node")
    )


@dataclass(frozen=True, kw_only=True)
class AksNodeClassSpec:
    artifact_streaming: AksArtifactStreaming | None = prop("Streaming of images.", default=None)
    fips_mode: str | None = prop("FIPS.", default=None, enum=("FIPS", "Disabled"))
    gpu: AksGpu | None = prop("GPU.", default=None)
    image_family: str | None = prop("Image.", default=None, enum=("Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux"))
    kubelet: AksKubelet | None = prop("Kubelet.", default=None)
    linux_os_config: AksLinux | None = prop("Kernel.", json="linuxOSConfig", default=None)
    local_dns: AksLocalDns | None = prop("Name server.", json="localDNS", default=None)
    max_pods: int | None = prop("Pods.", default=None, minimum=10, maximum=250)
    os_disk_size: int | None = prop("GB.", json="osDiskSizeGB", default=None, minimum=30, maximum=2048)
    security: AksSecurity | None = prop("Security.", default=None)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, max_length=256)
    vnet_subnet_id: str | None = prop(
        "Subnet.",
        json="vnetSubnetID",
        default=None,
        pattern=r"(?i)/subscriptions/[^/]+/resourceGroups/[a-z0-9_().-]{0,89}[a-z0-9_()-]"
        r"/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+",
        form="the id of a subnet",
    )
