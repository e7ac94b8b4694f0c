"""Shared by the tests of whole kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_compiler import quick_kernels as quick_kernels
from kernel_compiler import unoptimising as unoptimising

from tile_ir.switches import override


@pytest.fixture(autouse=True)
def quick(quick_kernels: None) -> None:
    """Many kernels, and none of these tests is about how they are compiled."""


@pytest.fixture
def strict(fresh_switches: None) -> Iterator[None]:
    """Kernels run with every check on."""
    with override(check="strict"):
        yield
