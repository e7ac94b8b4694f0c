"""Shared by the tests of whole kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tile_ir.switches import override

from .kernel_compiler import kernel_compiler


@pytest.fixture(scope="session")
def compiler(pytestconfig: pytest.Config) -> str:
    """`make test-all` optimises kernels as a user's are."""
    return kernel_compiler(optimise=pytestconfig.getoption("--all"))


@pytest.fixture(autouse=True)
def quick_compiler(compiler: str, fresh_switches: None) -> Iterator[None]:
    """What the test compiles itself, not in processes of its own, is compiled by the wrapper."""
    with override(cxx=compiler):
        yield


@pytest.fixture
def strict(fresh_switches: None) -> Iterator[None]:
    """Kernels run with every check on."""
    with override(check="strict"):
        yield
