"""Shared by the tests of programs."""

from __future__ import annotations

import pytest
from kernel_compiler import quick_kernels as quick_kernels
from kernel_compiler import unoptimising as unoptimising


@pytest.fixture(autouse=True)
def quick(quick_kernels: None) -> None:
    """Many kernels, and none of these tests is about how they are compiled."""
