"""A server in the tests' own process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from whygpu.serve.current import Current

if TYPE_CHECKING:
    from fastapi.testclient import TestClient


@pytest.fixture(scope="session")
def current() -> Current:
    return Current(None)


@pytest.fixture(scope="session")
def client(current: Current) -> Iterator[TestClient]:
    pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
    from fastapi.testclient import TestClient  # noqa: PLC0415

    from whygpu.serve.http import application  # noqa: PLC0415

    with TestClient(application(current), base_url="http://127.0.0.1", raise_server_exceptions=False) as found:
        yield found
