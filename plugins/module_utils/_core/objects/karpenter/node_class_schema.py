# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the published definitions ask of the classes that machines are made from: ``EC2NodeClass`` of
karpenter.k8s.aws/v1 and ``AKSNodeClass`` of karpenter.azure.com/v1beta1. Parts that are ``raw`` are not judged."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ...schema.meta import EMPTY
from ...schema.prop import prop
from ...schema.rules import Found
from ...values.field_path import field

AMI_FAMILIES = ("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")
VOLUME_TYPES = ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")
MAX_TERMS = 30
_ID: dict[str, t.Any] = {"form": "the id of such a resource"}


@dataclass(frozen=True, kw_only=True)
class Ec2AmiTerm:
    alias: str | None = prop(
        "Family and version.",
        default=None,
        max_length=30,
        pattern=r"(al2|al2023|bottlerocket|windows2019|windows2022|windows2025)@.+",
        form="a family and a version, such as al2023@latest",
    )
    id: str | None = prop("Image.", default=None, pattern=r".*ami-[0-9a-z]+.*", **_ID)
    name: str | None = prop("Name.", default=None)
    owner: str | None = prop("Owner.", default=None)
    ssm_parameter: str | None = prop("Parameter.", default=None)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, max_items=20)


@dataclass(frozen=True, kw_only=True)
class Ec2SubnetTerm:
    id: str | None = prop("Subnet.", default=None, pattern=r".*subnet-[0-9a-z]+.*", **_ID)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, max_items=20)


@dataclass(frozen=True, kw_only=True)
class Ec2SecurityGroupTerm:
    id: str | None = prop("Group.", default=None, pattern=r".*sg-[0-9a-z]+.*", **_ID)
    name: str | None = prop("Name.", default=None)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY, max_items=20)


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
        "Size.", default=None, pattern=r"([0-9]+(Gi|G|Ti|T))?", form="a size such as 100Gi or 1Ti"
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
    eviction_hard: t.Mapping[str, str] = prop("Limits.", default=EMPTY)
    eviction_max_pod_grace_period: int | None = prop("Seconds.", default=None)
    eviction_soft: t.Mapping[str, str] = prop("Limits.", default=EMPTY)
    eviction_soft_grace_period: t.Mapping[str, str] = prop("Durations.", default=EMPTY)
    image_gc_high: int | None = prop(
        "Percent.", json="imageGCHighThresholdPercent", default=None, minimum=0, maximum=100
    )
    image_gc_low: int | None = prop("Percent.", json="imageGCLowThresholdPercent", default=None, minimum=0, maximum=100)
    kube_reserved: t.Mapping[str, str] = prop("Kept for Kubernetes.", default=EMPTY)
    max_pods: int | None = prop("Pods.", default=None, minimum=0)
    pods_per_core: int | None = prop("Pods.", default=None, minimum=0)
    system_reserved: t.Mapping[str, str] = prop("Kept for the system.", default=EMPTY)


@dataclass(frozen=True, kw_only=True)
class Ec2MetadataOptions:
    http_endpoint: str | None = prop("Endpoint.", default=None, enum=("enabled", "disabled"))
    http_protocol: str | None = prop("IPv6.", json="httpProtocolIPv6", default=None, enum=("enabled", "disabled"))
    http_put_response_hop_limit: int | None = prop("Hops.", default=None, minimum=1, maximum=64)
    http_tokens: str | None = prop("Tokens.", default=None, enum=("required", "optional"))


@dataclass(frozen=True, kw_only=True)
class Ec2NodeClassSpec:
    ami_family: str | None = prop("Family.", default=None, enum=AMI_FAMILIES)
    ami_selector_terms: tuple[Ec2AmiTerm, ...] = prop("Images.", min_items=1, max_items=MAX_TERMS)
    public_address: bool | None = prop("Public address.", json="associatePublicIPAddress", default=None)
    block_device_mappings: tuple[Ec2BlockDevice, ...] = prop("Disks.", default=(), max_items=50)
    capacity_reservation_selector_terms: tuple[t.Any, ...] = prop("Reservations.", default=(), max_items=MAX_TERMS)
    connection_tracking: t.Mapping[str, t.Any] = prop("Timeouts.", default=EMPTY, raw=True)
    context: str | None = prop("Context.", default=None)
    cpu_options: t.Mapping[str, t.Any] = prop("Processor.", default=EMPTY, raw=True)
    detailed_monitoring: bool | None = prop("Monitoring.", default=None)
    instance_profile: str | None = prop("Profile.", default=None, min_length=1)
    instance_store_policy: str | None = prop("Local disks.", default=None, enum=("RAID0",))
    ip_prefix_count: int | None = prop("Prefixes.", default=None, minimum=0)
    kubelet: Ec2Kubelet | None = prop("Kubelet.", default=None)
    metadata_options: Ec2MetadataOptions | None = prop("Metadata service.", default=None)
    network_interfaces: tuple[t.Any, ...] = prop("Interfaces.", default=(), max_items=150)
    placement_group_selector: t.Mapping[str, t.Any] = prop("Placement group.", default=EMPTY, raw=True)
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


_SIZE: dict[str, t.Any] = {"pattern": r"[0-9]+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)", "form": "a size such as 50Mi"}


@dataclass(frozen=True, kw_only=True)
class AksKubelet:
    allowed_unsafe_sysctls: tuple[str, ...] = prop("Names.", default=())
    container_log_max_files: int | None = prop("Files.", default=None, minimum=2)
    container_log_max_size: str | None = prop("Size.", default=None, **_SIZE)
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
    linux_os_config: t.Mapping[str, t.Any] = prop("Kernel.", json="linuxOSConfig", default=EMPTY, raw=True)
    local_dns: t.Mapping[str, t.Any] = prop("Name server.", json="localDNS", default=EMPTY, raw=True)
    max_pods: int | None = prop("Pods.", default=None, minimum=10, maximum=250)
    os_disk_size: int | None = prop("GB.", json="osDiskSizeGB", default=None, minimum=30, maximum=2048)
    security: AksSecurity | None = prop("Security.", default=None)
    tags: t.Mapping[str, str] = prop("Tags.", default=EMPTY)
    vnet_subnet_id: str | None = prop(
        "Subnet.",
        json="vnetSubnetID",
        default=None,
        pattern=r"(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+",
        form="the id of a subnet",
    )


def check_ec2(spec: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """Rules over several fields of ``spec``."""
    if ("role" in spec) == ("instanceProfile" in spec):
        hint = "write role" if "role" not in spec else "keep one of them"
        yield Found("role-or-profile", "spec", "exactly one of role and instanceProfile is wanted", hint)
    images = [each for each in spec.get("amiSelectorTerms") or () if isinstance(each, Mapping)]
    aliased = [each for each in images if each.get("alias")]
    if images and not aliased and "amiFamily" not in spec:
        text = "amiFamily is needed where no term has an alias"
        yield Found("missing-field", "spec.amiFamily", text, "write an alias such as al2023@latest")
    if aliased and (len(images) > 1 or aliased[0].keys() & {"id", "tags", "name", "owner"}):
        yield Found("alias-alone", "spec.amiSelectorTerms", "an alias stands alone, without other fields and terms")
    for name, keys in (
        ("amiSelectorTerms", ("alias", "id", "name", "ssmParameter", "tags")),
        ("securityGroupSelectorTerms", ("id", "name", "tags")),
        ("subnetSelectorTerms", ("id", "tags")),
    ):
        for index, term in enumerate(spec.get(name) or ()):
            if isinstance(term, Mapping) and not any(key in term for key in keys):
                yield Found("empty-term", f"spec.{name}[{index}]", f"one of {', '.join(keys)} is wanted here")
    yield from _check_thresholds(spec)


def check_aks(spec: Mapping[str, t.Any]) -> t.Iterator[Found]:
    family = spec.get("imageFamily")
    if spec.get("fipsMode") == "FIPS" and family in (None, "Ubuntu2404"):
        yield Found("no-such-fips", "spec.fipsMode", f"FIPS is not there for {family or 'an image that is not named'}")
    yield from _check_thresholds(spec)


def _check_thresholds(spec: Mapping[str, t.Any]) -> t.Iterator[Found]:
    high, low = (field(spec, f"kubelet.imageGC{name}ThresholdPercent") for name in ("High", "Low"))
    if isinstance(high, int) and isinstance(low, int) and high <= low:
        path = "spec.kubelet.imageGCHighThresholdPercent"
        yield Found("threshold-order", path, f"{high} is not above imageGCLowThresholdPercent, {low}")
