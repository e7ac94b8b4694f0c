"""The chip table: rows of the vendor's platform files (docs/hardware/index.md#chips)."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, TARGETS, Memory, Target


@pytest.mark.parametrize(
    ("name", "cube_cores", "clock", "hbm", "l2_mib", "family"),
    [
        ("Ascend910B1", 24, 1850, 64, 192, "A2"),
        ("Ascend910B2", 24, 1800, 64, 192, "A2"),
        ("Ascend910B2C", 24, 1800, None, 192, "A2"),
        ("Ascend910B3", 20, 1800, 64, 192, "A2"),
        ("Ascend910B4", 20, 1500, 32, 96, "A2"),
        ("Ascend910B4-1", 20, 1500, 32, 168, "A2"),
        ("Ascend910_9391", 24, 1850, 64, 192, "A3"),
        ("Ascend910_9392", 24, 1850, 64, 192, "A3"),
        ("Ascend910_9381", 24, 1800, 64, 192, "A3"),
        ("Ascend910_9382", 24, 1800, 64, 192, "A3"),
        ("Ascend910_9372", 20, 1800, 64, 192, "A3"),
        ("Ascend910_9362", 20, 1500, 32, 168, "A3"),
    ],
)
def test_rows(
    name: str, cube_cores: int, clock: int, hbm: int | None, l2_mib: int, family: str
) -> None:
    target = TARGETS[name]
    assert (target.cube_cores, target.vector_cores) == (cube_cores, 2 * cube_cores)
    assert (target.clock_mhz, target.hbm_gigabytes) == (clock, hbm)
    assert (target.l2_bytes, target.architecture) == (l2_mib << 20, family)


def test_chips_stand_by_family() -> None:
    assert DEFAULT_TARGET in TARGETS.values()
    families = [target.architecture for target in TARGETS.values()]
    assert families == sorted(families) == ["A2"] * 6 + ["A3"] * 6 + ["A5"] * 2
    assert [t for t in TARGETS.values() if hash(t) != hash(t.name)] == []


def test_sizes() -> None:
    for target in TARGETS.values():
        if target.ai_core != "dav-c220":
            continue
        assert target.capacity[Memory.UB] == 196608
        assert target.capacity[Memory.L1] == 524288
        assert target.capacity[Memory.L0A] == target.capacity[Memory.L0B] == 65536
        assert target.capacity[Memory.L0C] == 131072
        for memory, alignment in target.alignment.items():
            assert memory is Memory.GM or target.capacity[memory] % alignment == 0


PACKAGES = Path(tile_ir.__file__).parents[3]


@pytest.mark.parametrize("name", [f.name for f in fields(Target)])
def test_every_fact_of_a_chip_has_a_reader(name: str) -> None:
    """What nothing asks is not known to be right."""
    asked = re.compile(rf"\b(?:target|chip|candidate|self|t)\.{name}\b")
    data = Path(tile_ir.__file__).parent / "chips"
    readers = [
        p
        for p in PACKAGES.glob("*/src/**/*.py")
        if data not in p.parents and asked.search(p.read_text())
    ]
    assert readers, f"nothing reads {name}"
