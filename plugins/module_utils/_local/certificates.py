# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The CA, keys and certificates (PKI) of one local cluster, made and signed: one for each identity (admin, API server,
kwok ...), how long they are valid, service account keys; keys gone or damaged (``state-unreadable``)."""

from __future__ import annotations

import ipaddress
import shutil
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    x509 = None  # type: ignore[assignment]

from .._core.errors import FleetError
from .locks import make_folder, unwritable_as_error
from .private import write_private

VALID_FOR = timedelta(days=3650)
# A clock that is a little behind the one that signed must not refuse the certificate.
_BACKDATED = timedelta(minutes=5)
_SERVING_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
# The first address of the service range: pods would reach the API server there.
_SERVING_ADDRESSES = ("127.0.0.1", "10.0.0.1")


@dataclass(frozen=True)
class CertificateIdentity:
    """A client, a server or both. ``file`` names its two files in the folder: ``<file>.crt`` and ``<file>.key``."""

    file: str
    user: str
    groups: tuple[str, ...] = ()
    serves: bool = False
    is_client: bool = True


ADMIN = CertificateIdentity("admin", "kubernetes-admin", ("system:masters",))
# Only clusters that run it have it: it is not among those that every cluster is made with.
KARPENTER = CertificateIdentity("karpenter", "karpenter", ("system:masters",))
_IDENTITIES = (
    CertificateIdentity("apiserver", "kube-apiserver", serves=True, is_client=False),
    # etcd names itself a client too: it is one, of its own listener, for the HTTP gateway.
    CertificateIdentity("etcd", "etcd", serves=True),
    CertificateIdentity("apiserver-etcd", "kube-apiserver"),
    ADMIN,
    CertificateIdentity("controller-manager", "system:kube-controller-manager"),
    CertificateIdentity("scheduler", "system:kube-scheduler"),
    # A user of its own, so that the audit log tells kwok's writes from people's.
    CertificateIdentity("kwok", "kwok", ("system:masters",)),
)


def make_pki(folder: Path, cluster: str, now: datetime | None = None, not_after: datetime | None = None) -> None:
    """Fill ``folder``: CA (``ca``), each identity but Karpenter's, and the pair that signs service account tokens
    (``sa.key, sa.pub``). Nothing is done if it is there: it is written beside and renamed, so it is whole or not there.

    ``not_after`` ends all certificates but the CA's; ten years by default. Instants are aware. One caller at a time.
    FleetError ``unwritable-folder``, ``missing-library``.
    """
    if folder.is_dir():
        return
    _need_library()
    began = now or datetime.now(UTC)
    making = folder.with_name(f".{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    make_folder(making, 0o700)
    with unwritable_as_error(folder.parent):
        _make_ca(making, cluster, began)
        for identity in _IDENTITIES:
            sign(making, identity, began, not_after)
        _make_service_account_keys(making)
        making.rename(folder)


def sign(
    folder: Path, identity: CertificateIdentity, now: datetime | None = None, not_after: datetime | None = None
) -> tuple[Path, Path]:
    """Writes a new key (mode 0600) and its certificate by the CA of ``folder`` there, over those of before; the paths,
    certificate first. Instants are aware; it begins five minutes before ``now``, or a day before an end that is
    earlier, and by default ends ten years later. FleetError ``state-unreadable`` for a damaged CA,
    ``unwritable-folder``, ``missing-library``."""
    _need_library()
    began = (now or datetime.now(UTC)) - _BACKDATED
    ends = not_after or began + VALID_FOR
    if ends <= began:
        began = ends - timedelta(days=1)  # wanted by tests: expired before it was made
    authority, authority_key = _authority(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_subject(identity), authority.subject, key, began, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_purposes(identity)), critical=False)
    )
    if identity.serves:
        builder = builder.add_extension(x509.SubjectAlternativeName(_serving_names()), critical=False)
    certificate = builder.sign(t.cast("ec.EllipticCurvePrivateKey", authority_key), hashes.SHA256())
    paths = folder / f"{identity.file}.crt", folder / f"{identity.file}.key"
    with unwritable_as_error(folder):
        write_private(paths[1], _pem_of_key(key))
        write_private(paths[0], certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return paths


def _authority(folder: Path) -> tuple[t.Any, t.Any]:
    """(The CA's certificate, its private key). FleetError ``state-unreadable`` if they are gone or damaged."""
    try:
        certificate = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
        return certificate, serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    except (OSError, ValueError, TypeError):
        raise unreadable_keys(folder) from None


def unreadable_keys(folder: Path) -> FleetError:
    """The FleetError ``state-unreadable``, given back, for keys in ``folder`` that are gone, or damaged."""
    text = f"keys or certificates in {folder} are gone, or cannot be read"
    return FleetError("state-unreadable", text, hint="make the cluster absent and present again")


def _make_ca(folder: Path, cluster: str, now: datetime) -> None:
    """Writes the key (mode 0600) and the certificate of a new CA, named for the cluster. OSError."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{cluster}-ca")])
    certificate = (
        _builder(name, name, key, now - _BACKDATED, now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(folder / "ca.key", _pem_of_key(key))
    write_private(folder / "ca.crt", certificate.public_bytes(serialization.Encoding.PEM), 0o644)


def _make_service_account_keys(folder: Path) -> None:
    """Writes the pair that signs service account tokens: ``sa.key`` (mode 0600) and ``sa.pub``. OSError."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write_private(folder / "sa.key", _pem_of_key(key))
    write_private(folder / "sa.pub", public, 0o644)


def _builder(subject: t.Any, issuer: t.Any, key: t.Any, began: datetime, ends: datetime) -> t.Any:
    """What every certificate has, not signed yet; that of a CA if subject and issuer are equal."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(began)
        .not_valid_after(ends)
        .add_extension(_key_usage(signs=subject == issuer), critical=True)
    )


def _key_usage(signs: bool) -> t.Any:
    """Digital signatures are allowed and, if it ``signs``, those of certificates and revocation lists; nothing else."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(identity: CertificateIdentity) -> t.Any:
    """The name that Kubernetes takes user (common name) and groups (organizations) from."""
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, identity.user)])


def _purposes(identity: CertificateIdentity) -> list[t.Any]:
    """The uses of a certificate as the extension lists them."""
    server = [ExtendedKeyUsageOID.SERVER_AUTH] if identity.serves else []
    return server + ([ExtendedKeyUsageOID.CLIENT_AUTH] if identity.is_client else [])


def _serving_names() -> list[t.Any]:
    """DNS names and addresses of every server's certificate: loopback, and the API server as pods call it."""
    addresses = [x509.IPAddress(ipaddress.ip_address(one)) for one in _SERVING_ADDRESSES]
    return [*(x509.DNSName(name) for name in _SERVING_NAMES), *addresses]


def _pem_of_key(key: t.Any) -> bytes:
    """The private key in PEM (PKCS#8), not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _need_library() -> None:
    """Raises FleetError ``missing-library`` where the package cryptography is missing."""
    if x509 is None:
        raise FleetError(
            "missing-library",
            "the Python package cryptography is needed to make a cluster's certificates",
            hint="pip install cryptography",
        )
