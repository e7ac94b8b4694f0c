"""Shared bytes never change what a kernel reads: random programs are followed byte by byte.

Each program is executed symbolically with random trip counts and branches; whoever wrote a byte last
is remembered, and every read must find the buffer's own bytes, unless it never had any.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

import tile_ir
from tile_ir import DEFAULT_TARGET, Alloc, Buffer, Func, Memory, Op, Target
from tile_ir.footprint import buffer_bytes
from tile_ir.nodes import Body, Break, For, If, Section
from tile_ir.opdef import accesses
from tile_passes import apply_passes

KB = 1024
SMALL = replace(DEFAULT_TARGET, capacity={**DEFAULT_TARGET.capacity, Memory.UB: 16 * KB})


def random_program(rng: random.Random) -> Func:
    """Up to twelve buffers of 1 to 6 KB; loops, branches, in-place and partial writes, breaks."""
    names = [f"b{i}" for i in range(rng.randint(4, 12))]
    sizes = {n: rng.randint(1, 6) * 256 for n in names}
    lines: list[str] = []

    def same_size(name: str) -> str:
        return rng.choice([n for n in names if sizes[n] == sizes[name]])

    def block(depth: int, in_loop: bool) -> None:
        pad = "  " * (depth + 3)
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            if kind < 0.2 and depth < 3:
                start = rng.randint(0, 1)
                stop = rng.choice(["%cid", str(start + 2)])
                lines.append(f"{pad}for %i{len(lines)}: int32 in serial({start}, {stop}) @0:1:1 {{")
                block(depth + 1, True)
                lines.append(f"{pad}}}")
            elif kind < 0.35 and depth < 3:
                lines.append(f"{pad}if %cid > {rng.randint(0, 3)} @0:1:1 {{")
                block(depth + 1, in_loop)
                if rng.random() < 0.5:
                    lines.append(f"{pad}}} else {{")
                    block(depth + 1, in_loop)
                elif in_loop and rng.random() < 0.2:
                    lines.append(f"{pad}  break @0:1:1")
                lines.append(f"{pad}}}")
            else:
                dst = rng.choice(names)
                if kind < 0.55:
                    lines.append(f"{pad}fill(${dst}, 0.0) @0:1:1")
                elif kind < 0.65:
                    half = sizes[dst] // 2
                    lines.append(f"{pad}fill(${dst}[{half}:+{half}], 0.0) @0:1:1")
                else:
                    src = same_size(dst)
                    lines.append(f"{pad}add(${dst}, ${src}, ${same_size(dst)}) @0:1:1")

    block(0, False)
    allocs = "".join(f"    alloc ${n}: ub float32 [{sizes[n]}] @0:1:1\n" for n in names)
    text = (
        'file 0 "k.py"\nfunc "k" phase typed @0:1:1 {\n'
        "  launch blocks(4) %cid %vid threads any @0:1:1 {\n"
        f"{allocs}    section vector @0:1:1 {{\n" + "\n".join(lines) + "\n    }\n  }\n}\n"
    )
    return tile_ir.parse(text)


@dataclass
class Run:
    """One execution: who wrote each block of 32 bytes last."""

    addresses: dict[Buffer, tuple[int, int]]
    rng: random.Random
    owner: dict[int, Buffer] = field(default_factory=dict)
    written: set[tuple[Buffer, int]] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)

    def body(self, body: Body) -> bool:
        """False after a break."""
        for stmt in body:
            match stmt:
                case Op():
                    self.op(stmt)
                case Section(body=inner):
                    self.body(inner)
                case For(body=inner):
                    trips = self.rng.randint(0, 3)
                    if tile_ir.expr.constant_value(stmt.stop) is not None:
                        trips = 2
                    for _ in range(trips):
                        if not self.body(inner):
                            break
                case If(then=then, orelse=orelse):
                    if not self.body(then if self.rng.random() < 0.5 else orelse):
                        return False
                case Break():
                    return False
        return True

    def op(self, op: Op) -> None:
        found = list(accesses(op))
        for region, access in found:
            if access.reads:
                for block in self.blocks(region):
                    mine = (region.buffer, block) in self.written
                    if mine and self.owner[block] is not region.buffer:
                        self.lost.append(f"{region.buffer.name} lost to {self.owner[block].name}")
        for region, access in found:
            if access.writes:
                for block in self.blocks(region):
                    self.owner[block] = region.buffer
                    self.written.add((region.buffer, block))

    def blocks(self, region: tile_ir.Region) -> range:
        start, _ = self.addresses[region.buffer]
        first = tile_ir.expr.constant_value(region.dims[0].offset) or 0
        count = tile_ir.expr.constant_value(region.dims[0].extent) or 0
        return range((start + first * 4) // 32, (start + (first + count) * 4) // 32)


def shared_addresses(func: Func, target: Target) -> dict[Buffer, tuple[int, int]] | None:
    """Address and size of every buffer, or None if nothing had to share or nothing fits."""
    result = apply_passes(func, ["share_memory"], target)
    allocs: tuple[Alloc, ...] = result.launch.allocs
    if any(a.address is None for a in allocs):
        return None
    return {a.buffer: (a.address or 0, buffer_bytes(a)) for a in allocs}


@pytest.mark.parametrize("chunk", range(4))
def test_no_value_is_lost(chunk: int) -> None:
    shared = 0
    for seed in range(chunk * 250, (chunk + 1) * 250):
        rng = random.Random(seed)
        func = random_program(rng)
        addresses = shared_addresses(func, SMALL)
        if addresses is None:
            continue
        shared += 1
        assert all(start + size <= 16 * KB for start, size in addresses.values()), seed
        for _ in range(6):
            run = Run(addresses, rng)
            run.body(func.launch.body)
            assert not run.lost, f"seed {seed}: {run.lost[0]}\n{tile_ir.print_func(func)}"
    assert shared > 20
