"""Model servers that run on this machine: offered by name, never used unless the configuration says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.session.mind import provider_in_force

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig


async def offers(config: GloveConfig) -> list[str]:
    """One line for each model server that was found, with what to set to use it; empty when a model is configured."""
    if config.model.provider != "auto" or provider_in_force(config) != "none":
        return []
    from agents.models.discovery import find_local_servers

    return [
        f"{found.server} runs on this machine (not used). To think with it: "
        f"GLOVE_MODEL__PROVIDER={found.provider} GLOVE_MODEL__BASE_URL={found.base_url} "
        f"GLOVE_MODEL__NAME={found.models[0]}"
        for found in await find_local_servers()
    ]
