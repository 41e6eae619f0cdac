"""The appliance's own certificate authority: it vouches for names and addresses of a home network and nothing else.

A phone that trusts it shows the page without a warning. Its name constraints (RFC 5280, 4.2.1.10) are critical, so that
somebody who stole its key could still not pretend to be a bank.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from agents.base.errors import GloveError
from appliance.lan.private_files import write_private

Address = IPv4Address | IPv6Address

PRIVATE = tuple(
    ip_network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10")
)
"""Addresses that only home networks use (RFC 1918, 3927, 4193, 4291)."""

LOCAL_SUFFIX = "local"
"""Names that are resolved by asking the neighbours (RFC 6762)."""

EPOCH = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
"""No copy of this program is older: a clock that says so is wrong, and certificates are made as of now."""

AUTHORITY_DAYS = 3650
LEAF_DAYS = 30
LEAF_DAYS_WITHOUT_CLOCK = 820
"""Without a clock nobody knows which 30 days are meant; phones refuse more than 825. Replaced once the clock is set."""

RENEW_DAYS = 10
"""A certificate is replaced when it has fewer days left than this."""


@dataclass(frozen=True)
class Leaf:
    """The certificate that the server shows, with its key, in files."""

    certificate: x509.Certificate
    chain: Path
    key: Path

    @property
    def names(self) -> list[str]:
        """The host names and addresses that it is for, sorted."""
        told = self.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return sorted([*told.get_values_for_type(x509.DNSName), *map(str, told.get_values_for_type(x509.IPAddress))])

    def due(self, names: Iterable[str], at: datetime) -> bool:
        """Whether another one is needed: for other names, or because time runs out, or had not begun."""
        if self.names != sorted(names):
            return True
        if at < EPOCH:  # a wrong clock is no reason to replace one that was made with a right one
            return False
        first, last = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        long = last - first > timedelta(days=LEAF_DAYS + 2)
        return long or not first <= at <= last - timedelta(days=RENEW_DAYS)


class Authority:
    """An authority whose certificate and key are files in a folder.

    Args:
        folder: where ``authority.crt``, ``authority.key``, ``server.crt`` and ``server.key`` are.
        certificate: its certificate.
        key: its key.
    """

    def __init__(self, folder: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._folder = folder
        self._key = key
        self.certificate = certificate

    @classmethod
    def load(cls, folder: Path) -> Authority | None:
        """The authority in ``folder``, or None when there is none yet.

        Raises:
            GloveError: ``ERR_CERTIFICATE``, the files cannot be used.
        """
        certificate, key = folder / "authority.crt", folder / "authority.key"
        if not certificate.exists() and not key.exists():
            return None
        try:
            if key.stat().st_mode & 0o077:
                raise ValueError("others may read authority.key; chmod 600 it, or make another one")
            secret = serialization.load_pem_private_key(key.read_bytes(), password=None)
            public = x509.load_pem_x509_certificate(certificate.read_bytes())
            if not isinstance(secret, ec.EllipticCurvePrivateKey) or public.public_key() != secret.public_key():
                raise ValueError("authority.key is not the key of authority.crt")
        except (OSError, ValueError) as fault:
            raise GloveError(
                "ERR_CERTIFICATE",
                f"The authority in {folder} cannot be used: {fault}.",
                "glove certificate renew --authority makes another one; devices have to trust that anew.",
                fault,
            ) from fault
        return cls(folder, public, secret)

    @classmethod
    def make(cls, folder: Path, label: str, at: datetime) -> Authority:
        """Make an authority in ``folder``, in place of one that was there.

        Args:
            folder: made for this user alone if need be.
            label: which machine it belongs to, for people who look through what their phone trusts.
            at: what the clock says; if that cannot be, the authority is valid from ``EPOCH`` on.

        Raises:
            GloveError: ``ERR_LAN_FILES``, the files cannot be written.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        first = max(at, EPOCH) - timedelta(days=1)
        subject = _name(f"Glove on {label}"[:60])
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        usage = _key_usage(signs_certificates=True)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(first)
            .not_valid_after(first + timedelta(days=AUTHORITY_DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(_constraints(), critical=True)
            .add_extension(identifier, critical=False)
            .sign(key, hashes.SHA256())
        )
        for name in ("server.crt", "server.key"):
            (folder / name).unlink(missing_ok=True)
        write_private(folder / "authority.key", _pem(key))
        write_private(folder / "authority.crt", certificate.public_bytes(serialization.Encoding.PEM), 0o644)
        return cls(folder, certificate, key)

    def due(self, at: datetime) -> bool:
        """Whether it is over, or so soon that a leaf could outlive it."""
        return at > self.certificate.not_valid_after_utc - timedelta(days=LEAF_DAYS)

    def leaf(self) -> Leaf | None:
        """The server's certificate as it is on disk, or None when there is none that this authority has signed."""
        chain, key = self._folder / "server.crt", self._folder / "server.key"
        try:
            certificate = x509.load_pem_x509_certificate(chain.read_bytes())
            secret = serialization.load_pem_private_key(key.read_bytes(), password=None)
            certificate.verify_directly_issued_by(self.certificate)
        except (OSError, ValueError, TypeError, InvalidSignature):
            return None
        same = isinstance(secret, ec.EllipticCurvePrivateKey) and secret.public_key() == certificate.public_key()
        return Leaf(certificate, chain, key) if same else None

    def issue(self, names: Iterable[str], at: datetime) -> Leaf:
        """Make the server's certificate, with a key of its own.

        Args:
            names: host names and addresses, at least one of them within the constraints.
            at: what the clock says.

        Raises:
            GloveError: ``ERR_LAN_FILES``, the files cannot be written.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        first = max(at, EPOCH, self.certificate.not_valid_before_utc + timedelta(days=1)) - timedelta(days=1)
        days = LEAF_DAYS if at >= EPOCH else LEAF_DAYS_WITHOUT_CLOCK
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name("Glove"))
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(first)
            .not_valid_after(first + timedelta(days=days + 1))
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in sorted(names)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        # The key first: a pair that does not fit together is noticed and made again.
        secret = write_private(self._folder / "server.key", _pem(key))
        chain = certificate.public_bytes(pem) + self.certificate.public_bytes(pem)
        return Leaf(certificate, write_private(self._folder / "server.crt", chain), secret)


def fingerprint(certificate: x509.Certificate) -> str:
    """The SHA-256 fingerprint as browsers and phones show it: pairs of hexadecimal digits."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()


def certifiable(name: str) -> bool:
    """Whether the authority may vouch for ``name``, a host name or an address."""
    try:
        return private(name)
    except ValueError:
        return name.endswith(f".{LOCAL_SUFFIX}")


def private(address: str) -> bool:
    """Whether ``address`` belongs to a home network."""
    known = ip_address(address)
    return any(known.version == network.version and known in network for network in PRIVATE)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _constraints() -> x509.NameConstraints:
    return x509.NameConstraints(
        permitted_subtrees=[x509.DNSName(LOCAL_SUFFIX), *map(x509.IPAddress, PRIVATE)], excluded_subtrees=None
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
