"""Where buffers share bytes and the order inside a core is the author's, flags that are right for
buffers of their own stay right: what sharing puts in each other's way, the compiler orders."""

from __future__ import annotations

import random
from dataclasses import replace

import memory_programs
import pytest
from kept_cases import kept
from orders_by_hand import ordered_by_hand, with_ub

import tile_ir
from tile_checkers import check_choices, check_memory
from tile_checkers.section import check_section
from tile_ir import DEFAULT_TARGET, Diagnostic, Func, KernelError, Memory, Op, Section, Stmt
from tile_ir.opdef import Effect
from tile_ir.traversal import generated, rewrite, walk
from tile_passes import apply_passes
from tile_passes.analysis.memory_use import memory_bound, memory_max_live, memory_peak
from tile_passes.insert_sync import insert_sync, section_trees
from tile_passes.order_sharing import waits_of_sharing

PASSES = ["plan_memory", "accept_manual_sync"]


def shared(func: Func) -> Func | None:
    """The function in as little of UB as it needs."""
    for bytes_of in (memory_bound, memory_max_live):
        try:
            return apply_passes(func, PASSES, with_ub(bytes_of(func, DEFAULT_TARGET)[Memory.UB]))
        except KernelError as error:
            assert error.slug == "memory-overflow"
    return None


def in_core(func: Func) -> list[Diagnostic]:
    """What order inside the cores leaves to chance; both lanes of these programs do the same."""
    sections = [s for s in func.launch.body if isinstance(s, Section)]
    return [d for section in sections for d in check_section(func, section, DEFAULT_TARGET)]


CHUNKS = 6


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_sharing_makes_no_race(chunk: int) -> None:
    compared, seeds = 0, kept(range(chunk * 20, (chunk + 1) * 20), least=6)
    for seed in seeds:
        func = ordered_by_hand(memory_programs.random_program(random.Random(seed)))
        apart = apply_passes(func, PASSES, with_ub(1 << 24))
        if in_core(apart):
            continue  # not proven even with bytes of their own
        final = shared(func)
        if final is None:
            continue
        found = [*check_memory(final), *in_core(final), *check_choices(func, final)]
        assert not found, f"seed {seed}: {found[0].render()}"
        compared += memory_peak(final)[Memory.UB] < memory_peak(apart)[Memory.UB]
    assert compared > len(seeds) // 2, compared


FOUR = """file 0 "k.py"
func "k" phase split automatic memory @0:1:1 {{
  tensor $B: float32 [4, 16384] @0:1:1
  launch blocks(1) %cid %vid threads any @0:1:1 {{
{allocs}    section vector @0:1:1 {{
{body}
    }}
  }}
}}
"""


def four_tiles(waits: int | None) -> Func:
    """Four tiles of 64 KiB, each filled and stored; with `waits`, V waits for the store of that
    tile before it goes on."""
    allocs = "".join(f"    alloc $t{i}: ub float32 [16384] @0:1:1\n" for i in range(4))
    lines = []
    for i in range(4):
        at = f"@0:{i + 2}:1"
        pipes = '{src_pipe="v", dst_pipe="mte3"}'
        lines += [
            f"fill($t{i}, {i}.0) {at}",
            f"set_flag({i}) {pipes} {at}",
            f"wait_flag({i}) {pipes} {at}",
            f"copy_ub_gm($t{i}, $B[{i}:+1, 0:+16384]) {at}",
        ]
        if waits == i:
            back = '{src_pipe="mte3", dst_pipe="v"}'
            lines += [f"set_flag(0) {back} {at}", f"wait_flag(0) {back} {at}"]
    return tile_ir.parse(FOUR.format(allocs=allocs, body="\n".join(f"      {x}" for x in lines)))


def sets(func: Func) -> int:
    return sum(
        isinstance(s, Op) and s.opdef.effect is Effect.SET_FLAG for s in walk(func.launch.body)
    )


def test_a_tile_waits_for_the_store_that_still_reads_its_bytes() -> None:
    func = four_tiles(None)
    final = apply_passes(func, PASSES, DEFAULT_TARGET)
    assert not check_choices(func, final)
    assert sets(final) == sets(func) + 1


@pytest.mark.parametrize("tile", range(3))
def test_bytes_whose_reuse_is_ordered_already_come_first(tile: int) -> None:
    func = four_tiles(tile)
    final = apply_passes(func, PASSES, DEFAULT_TARGET)
    assert sets(final) == sets(func)
    addresses = {a.buffer.name: a.address for a in final.launch.allocs}
    assert addresses["t3"] in [addresses[f"t{i}"] for i in range(tile + 1)]


def test_what_plan_memory_has_ordered_is_settled() -> None:
    """`insert_sync` leaves it alone, and adds nothing where it does not know."""
    settled = 0
    for seed in range(60):
        draw = random.Random(seed)
        func = ordered_by_hand(memory_programs.random_program(draw))

        def ours(stmt: Stmt, draw: random.Random = draw) -> Stmt:
            data = isinstance(stmt, Op) and stmt.opdef.effect is Effect.DATA
            return generated(stmt) if data and draw.random() < 0.3 else stmt

        func = func.with_body(rewrite(func.launch.body, ours))
        target = with_ub(memory_max_live(func, DEFAULT_TARGET)[Memory.UB])
        planned = apply_passes(func, ["plan_memory"], target)
        settled += len(planned.settled)
        for asked in (planned, replace(planned, settled=frozenset())):
            after = insert_sync.run(asked, target)
            assert planned.settled <= {*after.launch.body}, f"seed {seed}"
    assert settled > 10, settled


def test_what_is_wrong_by_our_choice_is_told_as_that() -> None:
    """The same addresses without the flag: `check_choices` blames the pair that shares."""
    func = four_tiles(None)
    final = apply_passes(func, PASSES, DEFAULT_TARGET)
    allocs = {a.buffer.name: a for a in final.launch.allocs}
    bare = apply_passes(
        replace(
            func,
            launch=replace(
                func.launch,
                allocs=tuple(
                    replace(a, address=allocs[a.buffer.name].address) for a in func.launch.allocs
                ),
            ),
        ),
        PASSES,
        DEFAULT_TARGET,
    )
    assert not check_choices(bare, bare)  # placed by the author: their own business
    found = check_choices(func, bare)
    assert {d.slug for d in found} == {"sync-missing"}
    assert all("`t3`" in d.message and "`t0`" in d.message for d in found)


def test_tiles_wait_for_what_their_bytes_held() -> None:
    """A tile that takes the bytes of another waits for its store, unless flags of the author tell
    that it is over."""
    func = four_tiles(None)
    apart = apply_passes(func, ["plan_memory"], with_ub(1 << 24))
    trees = section_trees(apart, DEFAULT_TARGET)
    names = {frozenset(b.name for b in pair) for pair in waits_of_sharing(apart, trees)}
    assert names == {frozenset((f"t{i}", f"t{j}")) for i in range(4) for j in range(i)}
    ordered = apply_passes(four_tiles(2), ["plan_memory"], with_ub(1 << 24))
    trees = section_trees(ordered, DEFAULT_TARGET)
    left = {frozenset(b.name for b in pair) for pair in waits_of_sharing(ordered, trees)}
    assert frozenset(("t3", "t0")) not in left and frozenset(("t2", "t0")) in left
