"""What the processes of test_messages.py run: `process_examples.py TRANSPORT... -- EXAMPLE...`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.append(str(Path(__file__).parents[2]))
from end_to_end.many_devices.example_cases import case_of
from end_to_end.many_devices.rank_cases import STEP, OfRank, OfRanks, RankCase, load

from tile_runtime import ProcessRanks, init_ranks


def argument_of(world: ProcessRanks, argument: Any) -> Any:
    """An argument as this rank gives it."""
    match argument:
        case OfRank(values=values):
            return torch.from_numpy(values[world.rank].copy())
        case OfRanks(values=values):
            return world.of(torch.from_numpy(values[world.rank]))
    return argument


def check_own(case: RankCase, world: ProcessRanks, given: list[Any]) -> None:
    """Hold what this rank has against what is expected of it."""
    found: list[Any] = [None] * len(given)
    for number, expected in case.expected.items():
        own = given[number]
        own = own if isinstance(own, torch.Tensor) else own[world.rank]
        found[number] = expected.copy()
        found[number][world.rank] = own.numpy()
    case.check(found)


def run(world: ProcessRanks, name: str, folder: Path) -> None:
    case = case_of(name, world.count, 0)
    kernel = case.kernel(load(case.script, folder))
    given = [argument_of(world, a) for a in case.arguments]
    for call in range(2):
        step = 1 + call * case.rounds
        world.launch(kernel, *(step if a is STEP else a for a in given))
        world.barrier()
    check_own(case, world, given)


def main(transport: str, names: list[str]) -> None:
    with (
        init_ranks(heap_bytes=4 << 20, transport=transport, backend="gloo") as world,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert world.transport == transport
        for name in names:
            run(world, name, Path(folder))
            print(f"rank {world.rank}: {name} by {transport} is right", flush=True)


if __name__ == "__main__":
    split = sys.argv.index("--")
    for each in sys.argv[1:split]:
        main(each, sys.argv[split + 1 :])
