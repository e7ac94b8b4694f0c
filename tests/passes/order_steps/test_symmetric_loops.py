"""One round of a symmetric loop stands for all: the same plans as with a copy for each residue."""

from __future__ import annotations

import random
from functools import lru_cache
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from order_steps.random_sections import kernel_function, short_function
from tile_ir import DEFAULT_TARGET, Func, Section, parse
from tile_passes.order import flow as flow_module
from tile_passes.order.confirm import orders
from tile_passes.order.conflicts import conflicts
from tile_passes.order.event_ids import allocate_events, live_flags
from tile_passes.order.flow import Flow, flow_of
from tile_passes.order.plan_section import place_all
from tile_passes.order.symmetric_loops import Renaming
from tile_passes.order.tree import Tree
from tile_passes.order.unroll import build_tree
from tile_passes.scalar_reads import name_scalar_reads

SEEDS = range(60)


def unrolled(tree: Tree) -> Flow:
    """The flow with a copy of every loop for each residue."""
    with mock.patch.object(flow_module, "symmetric_loops", lambda tree, conflicts: {}):
        return flow_of(tree, conflicts(tree))


def trees_of(func: Func) -> list[Tree]:
    func = name_scalar_reads(func)
    sections = [s for s in func.launch.body if isinstance(s, Section)]
    return [build_tree(func, section, DEFAULT_TARGET) for section in sections]


class Slots:
    """The text of a loop that goes through buffers of one to three slots in turn, in branches and
    loops inside it too, with statements outside."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.slots = [1, self.rng.randint(2, 3), self.rng.randint(1, 3)]

    def region(self, inside: bool) -> str:
        """A slot outside of the loop would not be that of every round: there it is the first."""
        buffer = self.rng.randrange(3) if inside else 0
        count = self.slots[buffer]
        slot = f"(%i + {self.rng.randrange(3)}) % {count}" if inside and count > 1 else "0"
        return f"$b{buffer}[{slot}:+1, 0:+64]"

    def stmt(self, inside: bool, depth: int = 0) -> list[str]:
        kind = self.rng.randrange(7 if inside and depth < 2 else 5)
        row = "%i" if inside else "0"
        match kind:
            case 0 | 1:
                where = f"$x[{row}:+1, 0:+64]"
                return [f"copy_gm_ub({where}, {self.region(inside)}) {{pad_value=0.0}} @0:1:1"]
            case 2:
                return [f"copy_ub_gm({self.region(inside)}, $y[{row}:+1, 0:+64]) @0:1:1"]
            case 3 | 4:
                return [f"exp({self.region(inside)}, {self.region(inside)}) @0:1:1"]
            case 5:
                head = f"if %i >= {self.rng.randint(1, 3)} @0:1:1 {{"
            case _:
                head = f"for %j{self.rng.random()}: int32 in serial(0, 3) @0:1:1 {{".replace(
                    ".", "_"
                )
        return [head, *self.body(inside, depth + 1, 2), "}"]

    def body(self, inside: bool, depth: int, most: int) -> list[str]:
        statements = range(self.rng.randint(1, most))
        return [line for _ in statements for line in self.stmt(inside, depth)]

    def func(self) -> Func:
        address, allocs = 0, []
        for n, count in enumerate(self.slots):
            allocs.append(f"alloc $b{n}: ub float32 [{count}, 64] address {address} @0:1:1")
            address += count * 256
        rounds = self.rng.choice(["%n", "20", "19"])
        text = [
            'file 0 "kernel.py"',
            'func "f" phase planned automatic sync @0:1:1 {',
            "tensor $x: float32 [64, 64] @0:1:1",
            "tensor $y: float32 [64, 64] @0:1:1",
            "scalar %n: int32",
            "launch blocks(1) %cid %vid threads any @0:1:1 {",
            *allocs,
            "section vector @0:1:1 {",
            *self.body(False, 2, 2),
            f"for %i: int32 in serial({self.rng.randrange(3)}, {rounds}) @0:1:1 {{",
            *self.body(True, 0, 5),
            "}",
            *self.body(False, 2, 2),
            *["}"] * 3,
        ]
        return parse("\n".join(text))


@lru_cache
def symmetric() -> list[Flow]:
    """Flows with a symmetric loop, of kernels of all kinds."""
    makes = (lambda seed: Slots(seed).func(), kernel_function, short_function)
    trees = [tree for make in makes for seed in SEEDS for tree in trees_of(make(seed))]
    return [f for f in (flow_of(tree, conflicts(tree)) for tree in trees) if f.symmetric]


def test_there_are_some() -> None:
    found = symmetric()
    assert len(found) >= 40
    assert {loop.modulus for flow in found for loop in flow.symmetric} >= {2, 3}
    assert all(len(flow.blocks) < len(unrolled(flow.tree).blocks) for flow in found)


def test_they_get_no_more_ops_than_unrolled() -> None:
    """Mostly the same. Residues have different orders of what is met first, so that one of them may
    be given what another makes superfluous."""
    more = 0
    for flow in symmetric():
        ours, theirs = (set(place_all(f).plan.ops) for f in (flow, unrolled(flow.tree)))
        assert len(ours) <= len(theirs)
        more += ours != theirs
    assert more <= len(symmetric()) // 5


def test_what_is_allocated_orders_every_residue() -> None:
    for flow in symmetric():
        plan = allocate_events(place_all(flow), DEFAULT_TARGET).plan
        every = unrolled(flow.tree)
        assert orders(every, plan)
        assert not live_flags(every, plan).early


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, (1 << 30) - 1))
def test_renaming_moves_every_bit_to_its_successor(cycles: list[int], bits: int) -> None:
    successors: dict[int, int] = {}
    for length in cycles:
        first = len(successors)
        successors |= {first + r: first + (r - 1) % length for r in range(length)}
    expected = sum(1 << successors.get(bit, bit) for bit in range(30) if bits >> bit & 1)
    assert Renaming(successors)(bits) == expected


SLOTS = """file 0 "kernel.py"
func "f" phase planned automatic sync @0:1:1 {{
  tensor $x: float32 [64, 64] @0:2:1
  launch blocks(1) %cid %vid threads any @0:3:1 {{
    alloc $a: ub float32 [2, 64] address 0 @0:4:1
    alloc $b: ub float32 [64] address {address} @0:5:1
    section vector @0:6:1 {{
      for %i: int32 in serial(0, {rounds}) @0:7:1 {{
        copy_gm_ub($x[%i:+1, 0:+64], $a[%i % 2:+1, 0:+64]) {{pad_value=0.0}} @0:8:1
        exp($a[%i % 2:+1, 0:+64], $a[%i % 2:+1, 0:+64]) @0:9:1
        exp($b[0:+64], $b[0:+64]) @0:10:1
      }}
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("address", "rounds", "expected"),
    [
        (512, 10, True),
        (512, 3, True),
        # In even rounds only, `b` is a slot of `a`.
        (256, 10, False),
        (0, 10, False),
        # No residue comes twice, or one never.
        (512, 2, False),
        (512, 1, False),
    ],
)
def test_when_a_loop_is_symmetric(address: int, rounds: int, expected: bool) -> None:
    (tree,) = trees_of(parse(SLOTS.format(address=address, rounds=rounds)))
    assert bool(flow_of(tree, conflicts(tree)).symmetric) is expected
