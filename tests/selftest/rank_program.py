"""One rank of `tile-ascend selftest --ranks`: `rank_program.py TRANSPORT,... PATTERN...`, once for each
rank by torchrun. All run the examples of many devices together, and rank 0 prints what came of each.
"""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.append(str(Path(__file__).parents[1]))
from end_to_end.many_devices.example_cases import EXAMPLES, case_of
from end_to_end.many_devices.rank_cases import STEP, OfRank, OfRanks, RankCase, load

from tile_ir import TileError
from tile_runtime import JITKernel, init_ranks
from tile_runtime.devices.choose_device import current_device
from tile_runtime.ranks.group_ranks import GroupRanks
from tile_runtime.ranks.rank_group import RankGroup, rank_group

# Of one example where each has ranks of its own, as one that fails ends them; and of all examples on
# NPUs, where the library is started once.
HEAP, HEAP_OF_ALL = 4 << 20, 128 << 20
CALLS = 2


def digest_of(outputs: Sequence[np.ndarray]) -> str:
    """One word for all their bytes."""
    digest = hashlib.sha256()
    for output in outputs:
        digest.update(np.ascontiguousarray(output).tobytes())
    return digest.hexdigest()[:8]


def _argument(world: GroupRanks, kernel: JITKernel, argument: Any) -> Any:
    """An argument as this rank gives it."""
    match argument:
        case OfRank(values=values):
            return torch.from_numpy(values[world.rank].copy()).to(kernel.device_type)
        case OfRanks(values=values):
            return world.of(torch.from_numpy(values[world.rank]))
    return argument


def _checked(case: RankCase, world: GroupRanks, given: list[Any]) -> str:
    """Hold what this rank has against what is expected of it; a word for its bytes."""
    found: list[Any] = [None] * len(given)
    outputs = []
    for number, expected in case.expected.items():
        own = given[number]
        own = (own if isinstance(own, torch.Tensor) else own[world.rank]).cpu().numpy()
        outputs.append(own)
        found[number] = expected.copy()
        found[number][world.rank] = own
    case.check(found)
    return digest_of(outputs)


def _run(world: GroupRanks, name: str) -> str:
    case = case_of(name, world.count, 0)
    kernel = case.kernel(load(case.script, Path()))
    given = [_argument(world, kernel, a) for a in case.arguments]
    for call in range(CALLS):
        step = 1 + call * case.rounds
        world.launch(kernel, *(step if a is STEP else a for a in given))
        world.barrier()
    return _checked(case, world, given)


def _outcome(world: AbstractContextManager[GroupRanks], name: str) -> tuple[str, str]:
    """The verdict of this rank on an example, with its bytes or what is wrong."""
    try:
        with world as ranks:
            return "ok", _run(ranks, name)
    except AssertionError as error:
        return "differs", " ".join(str(error).split())[:200]
    except (TileError, RuntimeError) as error:
        return "fails", str(error).split("\n")[0][:500]


def _row(group: RankGroup, own: tuple[str, str]) -> tuple[str, str]:
    """What came of an example on all ranks."""
    rows = group.gathered(own)
    bad = [
        (verdict, f"rank {r}: {text}") for r, (verdict, text) in enumerate(rows) if verdict != "ok"
    ]
    # Where one fails, those that wait for it say so as well.
    reasons = [found for found in bad if "rank-failed" not in found[1]] or bad
    return reasons[0] if reasons else ("ok", f"bytes {' '.join(text for _, text in rows)}")


def main(transports: Sequence[str], patterns: Sequence[str]) -> int:
    """Print a line for each example that fits a pattern; 1 if a rank has another result."""
    names = [n for n in EXAMPLES if any(fnmatch.fnmatch(n, pattern) for pattern in patterns)]
    on_npu = current_device().name != "simulator"
    first = init_ranks(
        heap_bytes=HEAP_OF_ALL if on_npu else HEAP, backend="hccl" if on_npu else "gloo"
    )
    group, say = rank_group(None, None), sys.stdout if first.rank == 0 else io.StringIO()
    say.write(f"{len(names)} examples on {first.count} ranks ({first.topology})\n")
    width, wrong = max(map(len, names), default=0), 0
    if not on_npu:
        first.close()
    for transport in ("npu",) if on_npu else transports:
        for name in names:
            world = (
                nullcontext(first) if on_npu else init_ranks(heap_bytes=HEAP, transport=transport)
            )
            verdict, words = _row(group, _outcome(world, name))
            wrong += verdict != "ok"
            say.write(f"{name:<{width}}  {transport:<8}  {verdict:<7}  {words}\n")
            say.flush()
    say.write(f"{wrong} wrong\n" if wrong else "all ok\n")
    say.flush()
    if on_npu:
        first.close()
    return int(wrong > 0)


if __name__ == "__main__":
    code = main(sys.argv[1].split(","), sys.argv[2:])
    group = rank_group(None, None)
    group.barrier()
    os._exit(code)  # the group may have lost a member
