"""Shared by all tests: a cache of their own, and no environment switches of the developer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tile_ir.switches import SWITCHES, override


@pytest.fixture(autouse=True)
def fresh_switches(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Every switch at its default, and an empty kernel cache for this test. What the compiler
    chose is proven for every kernel that a test builds.

    Only kernels go there: the simulator itself is built once, in the usual place, which
    TILE_CACHE_DIR names if the developer has moved it.
    """
    for switch in SWITCHES.values():
        if switch.name != "cache_dir":
            monkeypatch.delenv(switch.variable, raising=False)
    with override(cache_dir=str(tmp_path_factory.mktemp("cache")), prove=True):
        yield


def pytest_report_header() -> str:
    cache = os.environ.get("TILE_CACHE_DIR") or str(Path.home() / ".cache" / "tile-ascend")
    return f"simulator: {cache}"
