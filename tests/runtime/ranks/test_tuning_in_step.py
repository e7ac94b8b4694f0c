"""Tuning over processes: what one rank can not do is left out by all, and all choose the same."""

from __future__ import annotations

import re
from pathlib import Path

from started_processes import outputs_of, started

PROGRAM = Path(__file__).with_name("process_tuning.py")


def test_all_ranks_choose_the_same(tmp_path: Path) -> None:
    """S-32: rank 1 fails the third configuration, the fourth hangs, the fifth is wrong on rank 0;
    the second time what was right is known."""
    outputs = outputs_of(started(2, PROGRAM, str(tmp_path)))
    told = [re.findall(rf"rank {rank}: (.*)", output) for rank, output in enumerate(outputs)]
    assert told[0] == told[1]
    first, again, *rows, none = told[0]
    assert first == "chose {'piece': 256} after [16, 64, 128, 256]"
    assert again == "chose {'piece': 256} after [16, 64, 128]"
    states = [row.split(": ", 2)[2] for row in rows]
    assert states[:2] == ["right, None"] * 2
    assert states[2] == "refused, rank 1: no such piece here"
    assert states[3].startswith("wrong, rank ") and "deadlock" in states[3]
    assert states[4] == "wrong, rank 0: another line"
    assert none == "none: error[autotune-failed]: no configuration can be used on 2 ranks:"
