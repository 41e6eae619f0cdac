"""``glove certificate``: the certificate that phones see, and the authority behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.base.errors import GloveError, InputError
from appliance.commands.options import ConfigOption, settings

if TYPE_CHECKING:
    from appliance.lan.authority import Authority


def app() -> typer.Typer:
    """The command and its subcommands."""
    group = typer.Typer(help="Show, renew or export the certificate that phones see.", add_completion=False)
    group.command("show")(show)
    group.command("renew")(renew)
    group.command("export")(export)
    return group


def show(ctx: typer.Context, config: ConfigOption = None) -> int:
    """Show the fingerprints to compare, the names, and how long they are valid."""
    from appliance.lan.authority import fingerprint

    folder, authority = _authority(ctx, config)
    print(f"authority    {fingerprint(authority.certificate)}")  # noqa: T201
    print(f"             valid until {authority.certificate.not_valid_after_utc:%Y-%m-%d}, kept in {folder}")  # noqa: T201
    if (leaf := authority.leaf()) is None:
        print("certificate  none; glove pair makes it")  # noqa: T201
        return 0
    print(f"certificate  {fingerprint(leaf.certificate)}")  # noqa: T201
    print(f"             valid until {leaf.certificate.not_valid_after_utc:%Y-%m-%d}, for {', '.join(leaf.names)}")  # noqa: T201
    return 0


def renew(
    ctx: typer.Context,
    authority: Annotated[
        bool, typer.Option("--authority", help="Another authority too: devices that trust the old one warn again.")
    ] = False,
    config: ConfigOption = None,
) -> int:
    """Make another certificate, which the running appliance shows from then on."""
    from appliance.web.page_control import ask_page

    folder = _folder(ctx, config)
    try:
        ask_page({"do": "certificate", "authority": authority})
    except GloveError as fault:
        if fault.code not in ("ERR_NOT_RUNNING", "ERR_PAGE_OFF"):
            raise
        _renew_in(folder, authority=authority)
    print("Another certificate will be shown from now on.")  # noqa: T201
    return 0


def export(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to write it: .pem for text, anything else for DER.")],
    config: ConfigOption = None,
) -> int:
    """Write the authority's certificate, for devices that shall trust it. It holds no secret."""
    from cryptography.hazmat.primitives.serialization import Encoding

    _, authority = _authority(ctx, config)
    encoding = Encoding.PEM if file.suffix == ".pem" else Encoding.DER
    try:
        file.write_bytes(authority.certificate.public_bytes(encoding))
    except OSError as fault:
        raise InputError("ERR_OUTPUT", f"{file} cannot be written: {fault.strerror}.", cause=fault) from fault
    print(f"The authority's certificate is in {file}.")  # noqa: T201
    return 0


def _folder(ctx: typer.Context, config: Path | None) -> Path:
    from appliance.lan.network import lan_folder

    folder = lan_folder(settings(ctx, config).config)
    if folder is None:
        raise GloveError(
            "ERR_CERTIFICATE", "With store.path = memory nothing is kept, certificates neither.", "Set store.path."
        )
    return folder


def _authority(ctx: typer.Context, config: Path | None) -> tuple[Path, Authority]:
    from appliance.lan.authority import Authority

    folder = _folder(ctx, config)
    authority = Authority.load(folder)
    if authority is None:
        raise GloveError("ERR_CERTIFICATE", "There is no certificate yet.", "glove pair makes one.")
    return folder, authority


def _renew_in(folder: Path, *, authority: bool) -> None:
    """The appliance makes what is missing when it starts to serve the network."""
    names = ("server.crt", "server.key", *(("authority.crt", "authority.key") if authority else ()))
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as fault:
        raise GloveError("ERR_LAN_FILES", f"{folder} cannot be changed: {fault.strerror}.", None, fault) from fault
