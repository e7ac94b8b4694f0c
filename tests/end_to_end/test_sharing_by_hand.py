"""Tiles that share bytes under flags of the author's: simulated at `strict`, and what the interpreter
computes. The flags are right for tiles with bytes of their own."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from kept_cases import running
from passes.orders_by_hand import ordered_by_hand, with_ub

import tile_ir
from tile_ir import DEFAULT_TARGET, Func, KernelError, Memory
from tile_ir.analysis.shared_bytes import Sharing
from tile_passes import apply_passes
from tile_passes.analysis.memory_use import memory_bound, memory_max_live

from .kernel_batch import KernelBatch, interpreted

ROWS, WIDTH, KERNELS = 32, 4096, 24


def program(rng: random.Random) -> Func:
    """Two to six tiles of several sizes, each loaded or computed, worked on, then stored or read by
    the scalar unit, in the order of a random walk; some of it in loops of N[i] rounds."""
    count = rng.randint(2, 6)
    sizes = [rng.randint(1, 8) * 8 * rng.choice([1, 8, 64]) for _ in range(count)]
    lines: list[str] = []
    stores = 0

    def line(depth: int, text: str) -> None:
        lines.append("  " * (3 + depth) + f"{text} @0:{len(lines) + 2}:1")

    def use(depth: int, i: int) -> None:
        nonlocal stores
        size, tile = sizes[i], f"$t{i}"
        if rng.random() < 0.5:
            line(
                depth,
                f"copy_gm_ub($X[{rng.randrange(ROWS)}:+1, 0:+{size}], {tile}) {{pad_value=0.0}}",
            )
        else:
            line(depth, f"fill({tile}, {rng.randint(1, 9)}.5)")
        for _ in range(rng.randint(0, 2)):
            line(depth, f"add({tile}, {tile}, {tile})")
        if rng.random() < 0.2:
            line(
                depth, f"store {tile}[{rng.randrange(size)}] = {tile}[{rng.randrange(size)}] + 1.0"
            )
        if stores < ROWS:
            line(depth, f"copy_ub_gm({tile}, $Y[{stores}:+1, 0:+{size}])")
            stores += 1

    for _ in range(rng.randint(3, 7)):
        if rng.random() < 0.4:
            name = f"%i{len(lines)}"
            at = f"@0:{len(lines) + 2}:1"
            bound = rng.choice(["0", "1", "3", f"$N[{rng.randrange(8)}]"])
            lines.append(f"      for {name}: int32 in serial(0, {bound}) {at} {{")
            for _ in range(rng.randint(1, 3)):
                use(1, rng.randrange(count))
            lines.append("      }")
        else:
            use(0, rng.randrange(count))
    allocs = "".join(f"    alloc $t{i}: ub float32 [{s}] @0:1:1\n" for i, s in enumerate(sizes))
    return tile_ir.parse(
        'file 0 "k.py"\nfunc "k" phase split automatic memory @0:1:1 {\n'
        f"  tensor $X: float32 [{ROWS}, {WIDTH}] @0:1:1\n"
        "  tensor $N: int32 [8] @0:1:1\n"
        f"  tensor $Y: float32 [{ROWS}, {WIDTH}] @0:1:1\n"
        "  launch blocks(1) %cid %vid threads 1 @0:1:1 {\n"
        f"{allocs}    section vector @0:1:1 {{\n" + "\n".join(lines) + "\n    }\n  }\n}\n"
    )


def finished(func: Func) -> Func | None:
    """The kernel in as little of UB as holds it, or None if it does not fit or shares nothing."""
    for bytes_of in (memory_bound, memory_max_live):
        target = with_ub(bytes_of(func, DEFAULT_TARGET)[Memory.UB])
        try:
            final = apply_passes(func, ["plan_memory", "accept_manual_sync"], target)
        except KernelError as error:
            assert error.slug == "memory-overflow"
            continue
        return final if Sharing.of(final.launch.allocs, ()).pairs else None
    return None


@pytest.fixture(scope="module")
def batch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KernelBatch:
    batch = KernelBatch(tmp_path_factory.mktemp("shared"))
    count = 1 + max(running(request, "number"))
    for seed in range(3 * KERNELS):
        if len(batch.funcs) == count:
            break
        final = finished(ordered_by_hand(program(random.Random(seed))))
        if final is not None:
            batch.funcs.append(replace(final, name=f"k{len(batch.funcs)}_k"))
    assert len(batch.funcs) == count
    batch.build()
    return batch


@pytest.mark.parametrize("number", range(KERNELS))
def test_strict_and_as_interpreted(batch: KernelBatch, number: int) -> None:
    rng = np.random.default_rng(number)
    x = rng.standard_normal((ROWS, WIDTH)).astype(np.float32)
    for trips in (0, 1, 4):
        n = np.full(8, trips, np.int32)
        y = np.zeros_like(x)
        outcome = batch.run(number, [x, n, y], checks=2)
        assert outcome.error is None, outcome.error
        expected = interpreted(batch.funcs[number], [x, n, y])
        np.testing.assert_array_equal(outcome.arrays[2], expected[2])
