"""A broker for each test that asks for one, and the tools that `scripts/k8s-setup.sh` fetches."""

import pytest

from k8s import tools
from tests.eventing.conftest import bus, client

__all__ = ["bus", "client", "prepared"]


@pytest.fixture(scope="session")
def prepared() -> None:
    """Skip a test where the tools are missing."""
    try:
        tools.tool("kubeconform")
    except tools.ToolError as err:
        pytest.skip(str(err))
