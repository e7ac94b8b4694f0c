"""Collectives between devices, each a macro that a kernel of every rank calls.

Slices are one line of elements. Each block of the launch moves its part of every slice, and has a
word of its own for each rank, so that nobody waits for a part that is another block's. `step`
counts the calls from 1 on: words only grow, and nothing is reset between calls. What a call leaves
in slots is read before it ends, and a rank puts there again only when it has heard so.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_ir.costs.hccl import derived_us, published_all_reduce_us
from tile_runtime import Ranks

# Elements that one block takes of a slice are a multiple of these: whole blocks of ub in any type.
LINE = 32

CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


def part_of(n: int, blocks: int) -> int:
    """How many elements of a slice one block moves."""
    return T.ceildiv(T.ceildiv(n, blocks), LINE) * LINE


@T.macro
def all_gather(x, y, words, step, cid, blocks):
    """Slice `x` of every rank to row r of `y` of all: each rank puts its own to all others."""
    part = part_of(x.shape[0], blocks)
    start = cid * part
    with T.Scale("device") as (r, num):
        for s in T.serial(num):
            to = (r + T.if_then_else(s < num - 1, 1 + (s + cid) % T.max(num - 1, 1), 0)) % num
            T.put_signal(
                x[start : start + part],
                y[r, start : start + part],
                words[r * blocks + cid],
                step,
                to,
            )
        for s in T.serial(num):
            T.wait_ge(words[s * blocks + cid], step)


@T.macro
def ring_all_gather(x, y, words, step, cid, blocks):
    """The same around a ring: each rank hands on to its right what came last from its left."""
    part = part_of(x.shape[0], blocks)
    start = cid * part
    with T.Scale("device") as (r, num):
        right = (r + 1) % num
        T.copy(x[start : start + part], y[r, start : start + part])
        for s in T.serial(num - 1):
            last = (r + num - s) % num
            T.put_signal(
                y[last, start : start + part],
                y[last, start : start + part],
                words[last * blocks + cid],
                step,
                right,
            )
            T.wait_ge(words[(r + num - 1 - s) % num * blocks + cid], step)


@T.macro
def all_to_all(x, y, words, step, cid, blocks):
    """Row p of `x` to row r of `y` of rank p."""
    part = part_of(x.shape[1], blocks)
    start = cid * part
    with T.Scale("device") as (r, num):
        for s in T.serial(num):
            to = (r + s + cid) % num
            T.put_signal(
                x[to, start : start + part],
                y[r, start : start + part],
                words[r * blocks + cid],
                step,
                to,
            )
        for s in T.serial(num):
            T.wait_ge(words[s * blocks + cid], step)


@T.macro
def all_to_all_of_rows(x, counts, y, words, step, cid, blocks):
    """The first `counts[p]` rows of `x[p]` to `y[r]` of rank p. How many there are comes with the
    word that says so: `step` times one more than there can be, and the number."""
    most = x.shape[1]
    with T.Scale("device") as (r, num):
        for s in T.serial(num):
            to = (r + s + cid) % num
            for i in T.serial(T.ceildiv(counts[to] - cid, blocks)):
                T.put(x[to, cid + i * blocks, :], y[r, cid + i * blocks, :], to)
            T.quiet()
            T.signal(words[r * blocks + cid], step * (most + 1) + counts[to], to)
        for s in T.serial(num):
            T.wait_ge(words[s * blocks + cid], step * (most + 1))


@T.macro
def add_slots(slots, total, term, start, part, num):
    """The sum of all rows of `slots`, always in the order of the ranks."""
    T.copy(slots[0, start : start + part], total)
    for s in T.serial(num - 1):
        T.copy(slots[s + 1, start : start + part], term)
        for i in T.Parallel(part):
            total[i] = total[i] + term[i]


@T.macro
def reduce_scatter(x, slots, y, words, read, step, cid, blocks, dtype):
    """The sum of row r of `x` over all ranks to `y` of rank r. `slots` has a row for each rank;
    words of `read` say that they may be written again."""
    part = part_of(y.shape[0], blocks)
    start = cid * part
    total = T.alloc_shared((part,), dtype)
    term = T.alloc_shared((part,), dtype)
    with T.Scale("device") as (r, num):
        for s in T.serial(num):
            T.wait_ge(read[s * blocks + cid], step - 1)
        all_to_all(x, slots, words, step, cid, blocks)
        add_slots(slots, total, term, start, part, num)
        for s in T.serial(num):
            T.signal(read[r * blocks + cid], step, (r + s) % num)
        T.copy(total, y[start : start + part])


@T.macro
def all_reduce_at_once(x, slots, y, words, read, step, cid, blocks, dtype):
    """The sum of `x` over all ranks to `y` of all: each puts all of it to all, and all add."""
    part = part_of(y.shape[0], blocks)
    start = cid * part
    total = T.alloc_shared((part,), dtype)
    term = T.alloc_shared((part,), dtype)
    with T.Scale("device") as (r, num):
        for s in T.serial(num):
            T.wait_ge(read[s * blocks + cid], step - 1)
        all_gather(x, slots, words, step, cid, blocks)
        add_slots(slots, total, term, start, part, num)
        for s in T.serial(num):
            T.signal(read[r * blocks + cid], step, (r + s) % num)
        T.copy(total, y[start : start + part])


@T.macro
def all_reduce(x, slots, y, words, more_words, step, cid, blocks, dtype):
    """The sum of `x` over all ranks to `y` of all: row p is summed by rank p, and put to all. Who
    has the sum of a rank knows that its slots may be written again."""
    part = part_of(y.shape[1], blocks)
    start = cid * part
    total = T.alloc_shared((part,), dtype)
    term = T.alloc_shared((part,), dtype)
    with T.Scale("device") as (r, num):
        all_to_all(x, slots, words, step, cid, blocks)
        add_slots(slots, total, term, start, part, num)
        for s in T.serial(num):
            to = (r + s + cid) % num
            T.put_signal(total, y[r, start : start + part], more_words[r * blocks + cid], step, to)
        for s in T.serial(num):
            T.wait_ge(more_words[s * blocks + cid], step)


@T.macro
def broadcast(x, y, words, step, root, cid, blocks):
    """`x` of the rank `root` to `y` of all."""
    part = part_of(x.shape[0], blocks)
    start = cid * part
    with T.Scale("device") as (r, num):
        if r == root:
            for s in T.serial(num):
                to = (r + s + cid) % num
                T.put_signal(x[start : start + part], y[start : start + part], words[cid], step, to)
        T.wait_ge(words[cid], step)


@T.jit(pass_configs=CONFIGS)
def gather(ranks: int, n: int, blocks: int = 3, ring: bool = False) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * blocks),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            if ring:
                ring_all_gather(x, y, words, step, cid, blocks)
            else:
                all_gather(x, y, words, step, cid, blocks)

    return kernel


@T.jit(pass_configs=CONFIGS)
def exchange(ranks: int, n: int, blocks: int = 3) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, n), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * blocks),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            all_to_all(x, y, words, step, cid, blocks)

    return kernel


@T.jit(pass_configs=CONFIGS)
def exchange_rows(ranks: int, most: int, width: int, blocks: int = 3) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, most, width), "float32"),
        counts: T.Tensor((ranks,), "int32"),
        y: T.SymmTensor((ranks, most, width), "float32"),
        words: T.Signals(ranks * blocks),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            all_to_all_of_rows(x, counts, y, words, step, cid, blocks)

    return kernel


@T.jit(pass_configs=CONFIGS)
def scattered_sum(ranks: int, n: int, rounds: int = 1, blocks: int = 3) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, n), "float32"),
        slots: T.SymmTensor((ranks, n), "float32"),
        y: T.Tensor((n,), "float32"),
        words: T.Signals(ranks * blocks),
        read: T.Signals(ranks * blocks),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            for t in T.serial(rounds):
                reduce_scatter(x, slots, y, words, read, step + t, cid, blocks, "float32")

    return kernel


@T.jit(pass_configs=CONFIGS)
def sum_at_once(ranks: int, n: int, rounds: int = 1, blocks: int = 3) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        slots: T.SymmTensor((ranks, n), "float32"),
        y: T.Tensor((n,), "float32"),
        words: T.Signals(ranks * blocks),
        read: T.Signals(ranks * blocks),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            for t in T.serial(rounds):
                all_reduce_at_once(x, slots, y, words, read, step + t, cid, blocks, "float32")

    return kernel


@T.jit(pass_configs=CONFIGS)
def sum_of_all(ranks: int, n: int, rounds: int = 1, blocks: int = 3) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((ranks, n), "float32"),
        slots: T.SymmTensor((ranks, n), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * blocks),
        more_words: T.Signals(ranks * blocks),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            for t in T.serial(rounds):
                all_reduce(x, slots, y, words, more_words, step + t, cid, blocks, "float32")

    return kernel


@T.jit(pass_configs=CONFIGS)
def send_to_all(n: int, blocks: int = 3) -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((n,), "float32"),
        words: T.Signals(blocks),
        step: T.int32,
        root: T.int32,
    ) -> None:
        with T.Kernel(blocks) as cid:
            broadcast(x, y, words, step, root, cid, blocks)

    return kernel


def in_order(terms: torch.Tensor) -> torch.Tensor:
    """The sum over dimension 0, added from the first to the last."""
    total = terms[0].clone()
    for term in terms[1:]:
        total += term
    return total


def gather_all(world: Ranks, n: int, ring: bool) -> None:
    x = torch.randn(world.count, n)
    y, words = world.zeros((world.count, n), torch.float32), world.signals(world.count * 3)
    for step in (1, 2):
        world.launch(gather(world.count, n, ring=ring), list(x), y, words, step)
    how = "around a ring" if ring else "directly"
    report_ranks(f"all-gather of {n} {how}", list(y), [x] * world.count)


def exchange_all(world: Ranks, n: int) -> None:
    x = torch.randn(world.count, world.count, n)
    y, words = world.zeros((world.count, n), torch.float32), world.signals(world.count * 3)
    world.launch(exchange(world.count, n), list(x), y, words, 1)
    report_ranks(f"all-to-all of {n}", list(y), list(x.transpose(0, 1)))


def exchange_some(world: Ranks, most: int, width: int) -> None:
    num = world.count
    x, counts = torch.randn(num, num, most, width), torch.randint(0, most + 1, (num, num)).int()
    y, words = world.zeros((num, most, width), torch.float32), world.signals(num * 3)
    world.launch(exchange_rows(num, most, width), list(x), list(counts), y, words, 1)
    sent = x * (torch.arange(most) < counts[:, :, None])[..., None]
    report_ranks(f"all-to-all of up to {most} rows", list(y), list(sent.transpose(0, 1)))


def reduce_all(world: Ranks, n: int) -> None:
    num = world.count
    x = torch.randn(num, num, n)
    total = in_order(x)
    slots, y = world.zeros((num, n), torch.float32), world.zeros((num, n), torch.float32)
    own = [torch.zeros(n) for _ in range(num)]
    a, b = world.signals(num * 3), world.signals(num * 3)
    world.launch(scattered_sum(num, n, 2), list(x), slots, own, a, b, 1)
    report_ranks(f"reduce-scatter of {n}", own, list(total))
    a, b = world.signals(num * 3), world.signals(num * 3)
    world.launch(sum_of_all(num, n, 2), list(x), slots, y, a, b, 1)
    report_ranks(f"all-reduce of {num} x {n}", list(y), [total] * num)
    a, b = world.signals(num * 3), world.signals(num * 3)
    world.launch(sum_at_once(num, n, 2), list(x[:, 0]), slots, own, a, b, 1)
    report_ranks(f"all-reduce of {n} at once", own, [total[0]] * num)


def send_all(world: Ranks, n: int) -> None:
    x, root = torch.randn(world.count, n), world.count - 1
    y, words = world.zeros(n, torch.float32), world.signals(3)
    world.launch(send_to_all(n), list(x), y, words, 1, root)
    report_ranks(f"broadcast of {n}", list(y), [x[root]] * world.count)


# From here on HCCL's published formula is a head and the bytes of a link.
LARGE = 1 << 23


def modelled(world: Ranks, n: int, blocks: int) -> Iterator[tuple[str, float]]:
    """Modelled times of the collectives, with launches, for `n` elements from rank to rank."""
    num = world.count

    def own(*shape: int) -> list[torch.Tensor]:
        return [torch.zeros(shape) for _ in range(num)]

    def shared(*shape: int) -> T.Tensor:
        return world.zeros(shape, torch.float32)

    def words() -> T.Tensor:
        return world.signals(num * blocks)

    rows, whole = (num, n), num * n
    launches = {
        "all-gather": (gather(num, n, blocks), own(n), shared(*rows), words()),
        "all-gather around a ring": (gather(num, n, blocks, True), own(n), shared(*rows), words()),
        "all-to-all": (exchange(num, n, blocks), own(*rows), shared(*rows), words()),
        "reduce-scatter": (
            scattered_sum(num, n, 1, blocks), own(*rows), shared(*rows), own(n), words(), words(),
        ),
        "all-reduce": (
            sum_of_all(num, n, 1, blocks), own(*rows), shared(*rows), shared(*rows), words(),
            words(),
        ),
    }  # fmt: skip
    if 4 * whole < LARGE:
        launches["all-reduce at once"] = (
            sum_at_once(num, whole, 1, blocks), own(whole), shared(num, whole), own(whole), words(),
            words(),
        )  # fmt: skip
    for name, (kernel, *arguments) in launches.items():
        world.launch(kernel, *arguments, 1)
        yield name, world.times.task_microseconds


def hccl(name: str, size: int) -> str:
    """What HCCL takes on a server of eight: of an all-reduce published, of others derived from it
    (docs/use/many_devices.md)."""
    if name.startswith("all-reduce"):
        return f"HCCL {published_all_reduce_us(size):.1f} us"
    return f"HCCL {derived_us(size / 8):.1f} us, derived" if size >= LARGE else "HCCL not published"


def show_times() -> None:
    for size in (1 << 16, 1 << 20, LARGE):
        with Ranks(8) as world:
            for name, us in modelled(world, size // 4 // 8, blocks=21):
                print(f"{name} of {size >> 10} KB: modelled {us:.1f} us, {hccl(name, size)}")


def main() -> None:
    torch.manual_seed(0)
    for ranks, n in ((1, 100), (3, 1001), (8, 512)):
        with Ranks(ranks) as world:
            gather_all(world, n, ring=False)
            gather_all(world, n, ring=True)
            exchange_all(world, n)
            exchange_some(world, 7, 40)
            reduce_all(world, n)
            send_all(world, n)
    if os.environ.get("TILE_TIME"):
        show_times()


if __name__ == "__main__":
    main()
