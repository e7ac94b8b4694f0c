"""What `--explain` says of the blocks of a grid."""

from __future__ import annotations

from pathlib import Path

import golden
import pytest

from tile_ir import DEFAULT_TARGET, parse
from tile_passes.explain.grid import explain_grid

HERE = Path(__file__).parent / "persistent"
TOLD = {
    "fits": "24 blocks, each on a core of its own: there are 24",
    "left_to_the_model": "100 blocks on 24 cores, each of which does every 24th, one after the other",
    "runtime_size": "a number of blocks that calls decide on 24 cores, each of which does every 24th, "
    "one after the other",
    "longer_blocks_on_one_core": "72 blocks, each started when a core falls idle: they take different "
    "times, and dealt out in turn they would need 224% of the cycles",
    "ordered_by_hand": "100 blocks, each started when a core falls idle: their order is not the "
    "compiler's",
}


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.whole
def test_who_does_which_blocks_is_told(name: str) -> None:
    func = parse(golden.read(HERE / f"{name}.tir").source, name)
    assert TOLD[name] in explain_grid(func, DEFAULT_TARGET).splitlines()
