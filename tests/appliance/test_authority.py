"""The appliance's own authority: what it may vouch for, for how long, and what happens when the clock is wrong."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from agents.base.errors import GloveError
from appliance.lan.authority import EPOCH, Authority, Leaf, certifiable, fingerprint

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
NAMES = ["192.168.1.7", "glove.local", "fd00::7"]


def made(folder: Path, at: datetime = NOW) -> tuple[Authority, Leaf]:
    authority = Authority.make(folder, "pi", at)
    return authority, authority.issue(NAMES, at)


def openssl_says(folder: Path, leaf: Path, at: datetime, name: str) -> str:
    """What a second implementation thinks of it: empty when all is well."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    what = "-verify_ip" if name[0].isdigit() or ":" in name else "-verify_hostname"
    options = ["-CAfile", str(folder / "authority.crt"), "-x509_strict", "-purpose", "sslserver"]
    when = ["-attime", str(int(at.timestamp()))]
    ended = subprocess.run(
        [program, "verify", *options, *when, what, name, str(leaf)], capture_output=True, text=True, check=False
    )
    return "" if ended.returncode == 0 else ended.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_trusts_it_accepts_every_name_of_the_machine(tmp_path: Path, name: str) -> None:
    _, leaf = made(tmp_path)
    assert openssl_says(tmp_path, leaf.chain, NOW, name) == ""
    assert "mismatch" in openssl_says(tmp_path, leaf.chain, NOW, "other.local")


@pytest.mark.parametrize("name", ["bank.example", "local.example", "8.8.8.8", "172.32.0.1", "2001:db8::1"])
def test_it_cannot_vouch_for_anything_beyond_the_house_even_with_its_key(tmp_path: Path, name: str) -> None:
    authority = Authority.make(tmp_path, "pi", NOW)
    leaf = authority.issue([name], NOW)
    assert "permitted subtree violation" in openssl_says(tmp_path, leaf.chain, NOW, name)
    assert not certifiable(name)
    (constraints,) = [each for each in authority.certificate.extensions if isinstance(each.value, x509.NameConstraints)]
    assert constraints.critical


def test_what_it_issues_is_no_authority_itself_and_short_lived(tmp_path: Path) -> None:
    authority, leaf = made(tmp_path)
    constraints = leaf.certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical and not constraints.value.ca
    above = authority.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert above.path_length == 0
    assert leaf.certificate.not_valid_after_utc - NOW <= timedelta(days=31)
    assert "expired" in openssl_says(tmp_path, leaf.chain, NOW + timedelta(days=40), "glove.local")


def test_keys_are_readable_by_nobody_else_and_refused_when_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "lan"
    made(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("authority.key", "server.key"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    (folder / "authority.key").chmod(0o644)
    with pytest.raises(GloveError, match="others may read") as fault:
        Authority.load(folder)
    assert fault.value.remedy is not None and "certificate renew --authority" in fault.value.remedy


@pytest.mark.parametrize("spoilt", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"])
def test_files_that_are_spoilt_are_named_and_a_spoilt_leaf_is_simply_made_again(tmp_path: Path, spoilt: bytes) -> None:
    authority, _ = made(tmp_path)
    for name in ("server.crt", "server.key"):
        kept = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(spoilt)
        assert authority.leaf() is None
        (tmp_path / name).write_bytes(kept)
    assert authority.leaf() is not None
    (tmp_path / "authority.crt").write_bytes(spoilt)
    with pytest.raises(GloveError) as fault:
        Authority.load(tmp_path)
    assert fault.value.code == "ERR_CERTIFICATE"


def test_a_leaf_of_another_authority_is_not_shown(tmp_path: Path) -> None:
    made(tmp_path / "a")
    _, foreign = made(tmp_path / "b")
    for path in (foreign.chain, foreign.key):
        shutil.copy(path, tmp_path / "a")
    authority = Authority.load(tmp_path / "a")
    assert authority is not None and authority.leaf() is None


def test_it_is_renewed_for_other_names_and_before_it_is_over(tmp_path: Path) -> None:
    _, leaf = made(tmp_path)
    assert not leaf.due(NAMES, NOW)
    assert not leaf.due(reversed(NAMES), NOW + timedelta(days=19))
    assert leaf.due([*NAMES, "192.168.1.8"], NOW)
    assert leaf.due(NAMES, NOW + timedelta(days=21))
    assert leaf.due(NAMES, NOW - timedelta(days=3))


def test_without_a_clock_phones_accept_it_and_with_one_it_is_replaced(tmp_path: Path) -> None:
    """A machine without a battery starts in 1970; the phone knows better."""
    then = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    authority, leaf = made(tmp_path, then)
    for phone in (EPOCH + timedelta(hours=1), EPOCH + timedelta(days=800)):
        assert openssl_says(tmp_path, leaf.chain, phone, "glove.local") == ""
    assert not leaf.due(NAMES, then)  # nothing is gained by making it again
    assert leaf.due(NAMES, EPOCH + timedelta(days=100))
    short = authority.issue(NAMES, EPOCH + timedelta(days=100))
    assert short.certificate.not_valid_after_utc < EPOCH + timedelta(days=132)
    assert not short.due(NAMES, then)  # the battery is empty again: what was made with a clock is kept


def test_fingerprints_are_shown_as_browsers_show_them(tmp_path: Path) -> None:
    authority, leaf = made(tmp_path)
    assert authority.certificate.public_key() != leaf.certificate.public_key()
    der = ssl.PEM_cert_to_DER_cert((tmp_path / "authority.crt").read_text())
    shown = fingerprint(x509.load_der_x509_certificate(der))
    assert bytes.fromhex(shown.replace(":", "")) == authority.certificate.fingerprint(hashes.SHA256())
    assert shown == shown.upper() and shown.count(":") == 31
