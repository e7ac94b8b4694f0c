"""What the processes of test_messages.py run: `process_examples.py TRANSPORT... -- EXAMPLE...`."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
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


def digest_of(outputs: Sequence[np.ndarray]) -> str:
    """One word for all their bytes."""
    digest = hashlib.sha256()
    for output in outputs:
        digest.update(np.ascontiguousarray(output).tobytes())
    return digest.hexdigest()[:16]


def checked(case: RankCase, world: ProcessRanks, given: list[Any]) -> str:
    """Hold what this rank has against what is expected of it; a word for its bytes."""
    found: list[Any] = [None] * len(given)
    outputs = []
    for number, expected in case.expected.items():
        own = given[number]
        own = (own if isinstance(own, torch.Tensor) else own[world.rank]).numpy()
        outputs.append(own)
        found[number] = expected.copy()
        found[number][world.rank] = own
    case.check(found)
    return digest_of(outputs)


def run(world: ProcessRanks, name: str) -> str:
    case = case_of(name, world.count, 0)
    kernel = case.kernel(load(case.script, Path()))
    given = [argument_of(world, a) for a in case.arguments]
    for call in range(2):
        step = 1 + call * case.rounds
        world.launch(kernel, *(step if a is STEP else a for a in given))
        world.barrier()
    return checked(case, world, given)


def main(transport: str, names: list[str]) -> None:
    with init_ranks(heap_bytes=4 << 20, transport=transport, backend="gloo") as world:
        assert world.transport == transport
        for name in names:
            word = run(world, name)
            sys.stdout.write(f"rank {world.rank}: {name} by {transport} is right: {word}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    split = sys.argv.index("--")
    for each in sys.argv[1:split]:
        main(each, sys.argv[split + 1 :])
