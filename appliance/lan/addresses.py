"""The addresses and the name of this machine on the local network."""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address

from appliance.lan.authority import private

LONGEST_LABEL = 63


def all_addresses() -> set[str]:
    """Every address of this machine, without scopes. Blocks for a moment."""
    import ifaddr

    found: set[str] = set()
    for adapter in ifaddr.get_adapters():
        for each in adapter.ips:
            found.add(each.ip if isinstance(each.ip, str) else each.ip[0])
    return found


def lan_addresses() -> tuple[str, ...]:
    """The addresses under which neighbours reach this machine: private ones, without those that need a scope.

    IPv4 comes first, because people can type it.
    """
    known = [ip_address(text) for text in all_addresses() if private(text)]
    return tuple(str(each) for each in sorted(known, key=lambda one: (one.version, one)) if not each.is_link_local)


def host_label(wanted: str) -> str:
    """The first part of the host name to announce: ``wanted``, or for ``auto`` the machine's own name."""
    name = socket.gethostname().split(".")[0] if wanted == "auto" else wanted.removesuffix(".local")
    label = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[: LONGEST_LABEL - 4].strip("-")
    return label if label and label != "localhost" else "glove"
