import pytest

from tests.support.chaos import conversation


@pytest.mark.parametrize("seed", range(100))
async def test_case_c24_every_random_conversation_comes_to_rest(seed: int) -> None:
    await conversation(seed)
