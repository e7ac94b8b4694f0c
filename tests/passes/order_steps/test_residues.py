"""Plans of loops that use several slots in turn, in branches and inner loops too,
order every residue."""

from __future__ import annotations

import random

from order_steps.random_sections import flows_of
from tile_ir import DEFAULT_TARGET, Func, parse
from tile_passes.insert_sync import place_all
from tile_passes.order.completion import orders
from tile_passes.order.eliminate_redundant import eliminate
from tile_passes.order.event_ids import allocate_events, live_flags
from tile_passes.scalar_reads import name_scalar_reads

SEEDS = range(60)


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


def test_plans_order_every_residue() -> None:
    flags = 0
    for seed in SEEDS:
        for _, flow in flows_of(name_scalar_reads(Slots(seed).func())):
            plan = allocate_events(eliminate(place_all(flow)), DEFAULT_TARGET).plan
            assert orders(flow, plan)
            assert not live_flags(flow, plan).early
            flags += sum(op.slots > 1 for op in plan.flags)
    assert flags >= 40
