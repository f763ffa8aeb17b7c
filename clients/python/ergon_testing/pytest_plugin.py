# mypy: ignore-errors
# pytest loads this, and need not be there otherwise.
"""Fixtures: `ergon_url`, a server for all tests of a session; `ergon_server`, one for each test, as testing.server() gives it."""

import pytest
from ergon_client import testing


@pytest.fixture(scope="session")
def ergon_url():
    with testing.server() as url:
        yield url


@pytest.fixture
def ergon_server():
    with testing.server() as url:
        yield url
