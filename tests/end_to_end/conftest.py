"""Shared by the tests of whole kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tile_ir.switches import override


@pytest.fixture
def strict(fresh_switches: None) -> Iterator[None]:
    """Kernels run with every check on."""
    with override(check="strict"):
        yield
