"""Processes that share no memory and send messages: the bytes are those that shared files give, and
those of simulated devices in one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from end_to_end.many_devices.example_cases import EXAMPLES, case_of
from end_to_end.many_devices.rank_cases import load, simulate
from selftest import rank_program
from started_processes import outputs_of, started

# Of one value for each rank there is nothing to send.
SEVERAL = [name for name in EXAMPLES if not name.endswith("_of_one")]


def _same_bytes(ranks: int, names: list[str], folder: Path) -> None:
    program = Path(rank_program.__file__)
    told = outputs_of(started(ranks, program, "shared,messages", *names, seconds=900))[0]
    lines = re.findall(r"(\w+) +(shared|messages) +ok +bytes (.*)", told)
    assert len(lines) == 2 * len(names), told
    for name, transport, digests in lines:
        case = case_of(name, ranks, 0)
        found = simulate(case, case.kernel(load(case.script, folder)), 0, "prompt")
        simulated = [
            rank_program.digest_of([found[n][rank] for n in case.expected]) for rank in range(ranks)
        ]
        assert digests.split() == simulated, f"{name} by {transport}"


def test_messages_give_what_shared_memory_gives(tmp_path: Path) -> None:
    """S-29, S-30: puts, signals that add, loads of another rank's memory, atomic sums, barriers."""
    _same_bytes(2, ["neighbour", "sum_at_once", "gemm_rs"], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_all_examples_by_messages(ranks: int, tmp_path: Path) -> None:
    """S-30."""
    _same_bytes(ranks, SEVERAL, tmp_path)
