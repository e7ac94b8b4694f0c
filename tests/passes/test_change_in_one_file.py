"""A fact that a newcomer wants to change stands in one file: each case edits that file in a copy of
the packages, and the passes of the copy write another kernel. test_modulo_schedule.py does so for the interval between
iterations of a loop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
PACKAGES = HERE.parents[1] / "packages"
RUN = """
import sys, tile_ir
from tile_passes import apply_passes
for golden in sys.argv[2:]:
    text = open(golden).read().partition("# ---- expected")[0]
    func = apply_passes(tile_ir.parse(text), [sys.argv[1]], tile_ir.DEFAULT_TARGET)
    print(tile_ir.print_func(func))
"""


class Change(NamedTuple):
    """Other text in one file, and a pass that gives something else of a golden for it."""

    file: str
    old: str
    new: str
    run: str
    golden: str


CHANGES = {
    "the capacity of a counter": Change(
        "ir/src/tile_ir/chips/dav_c220.py",
        "cross_counter_limit=15",
        "cross_counter_limit=1",
        "insert_cross_core_sync",
        "all_at_once",
    ),
    "the order of event-id spilling": Change(
        "passes/src/tile_passes/order/spill.py",
        "    merge,\n    fewer_ids,\n    one_id_for_all_slots,\n",
        "    one_id_for_all_slots,\n    fewer_ids,\n    merge,\n",
        "insert_sync",
        "rings_share_ids",
    ),
    "the definition of a conflict": Change(
        "passes/src/tile_passes/order/conflicts.py",
        "writers[i] | readers[i] if t.writes else writers[i]",
        "writers[i] | readers[i]",
        "insert_sync",
        "readers_on_two_pipes",
    ),
}


def written(packages: Path, run: str, golden: Path) -> str:
    """What the passes of these packages give, as text."""
    folders = [str(packages / package / "src") for package in ("ir", "passes")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", RUN, run, str(golden)]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.whole
def test_one_file_is_enough(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    golden = HERE / change.run / f"{change.golden}.tir"
    for package in ("ir", "passes"):
        sources = PACKAGES / package / "src"
        shutil.copytree(sources, tmp_path / package / "src")
    file = tmp_path / change.file
    text = file.read_text()
    assert text.count(change.old) == 1, f"{change.old!r} is no longer in {change.file}"
    before = written(tmp_path, change.run, golden)
    file.write_text(text.replace(change.old, change.new))
    assert written(tmp_path, change.run, golden) != before
