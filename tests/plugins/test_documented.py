"""What a host can't do is said on its page in docs/hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import program_langchain, program_llm, program_openai_agents, program_pydantic_ai

if TYPE_CHECKING:
    from squidbot.testing.hosts import HostDriver

HOSTS = [program_langchain.HOST, program_llm.HOST, program_openai_agents.HOST, program_pydantic_ai.HOST]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_points_that_a_host_can_t_meet_are_documented(host: HostDriver) -> None:
    """Word by word, as the driver gives the reason."""
    assert host.root is not None
    page = " ".join((host.root / "docs" / "hosts" / f"{host.extra}.md").read_text("utf-8").split())
    for point, otherwise in host.otherwise.items():
        assert otherwise.reason in page, point
