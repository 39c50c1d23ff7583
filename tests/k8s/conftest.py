"""Fixtures: a broker per test, and the tools that `scripts/k8s-setup.sh` fetches."""

import pytest

from k8s import tools
from tests.eventing.conftest import bus, client

__all__ = ["bus", "client", "prepared"]


@pytest.fixture(scope="session")
def prepared() -> None:
    """Skip a test if the tools are missing."""
    try:
        tools.tool("kubeconform")
    except tools.ToolError as err:
        pytest.skip(str(err))
