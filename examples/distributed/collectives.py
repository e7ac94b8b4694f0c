"""Collectives between devices, each a macro that a kernel of every rank calls.

Slices are one line of elements. Each block of the launch moves its part of every slice, and has a
word of its own for each rank, so that nobody waits for a part that is another block's. `step`
counts the calls from 1 on: words only grow, and nothing is reset between calls.
"""

import tile_frontend as T

# Elements that one block takes of a slice are a multiple of these: whole blocks of ub in any type.
LINE = 32


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
            to = (r + s) % num
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
            to = (r + s) % num
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
def reduce_scatter(x, slots, y, words, step, cid, blocks, dtype):
    """The sum of row r of `x` over all ranks to `y` of rank r, always in the order of the ranks.
    `slots` has a row for each rank."""
    part = part_of(y.shape[0], blocks)
    start = cid * part
    total = T.alloc_shared((part,), dtype)
    term = T.alloc_shared((part,), dtype)
    with T.Scale("device") as (r, num):
        all_to_all(x, slots, words, step, cid, blocks)
        T.copy(slots[0, start : start + part], total)
        for s in T.serial(num - 1):
            T.copy(slots[s + 1, start : start + part], term)
            for i in T.Parallel(part):
                total[i] = total[i] + term[i]
        T.copy(total, y[start : start + part])


@T.macro
def all_reduce(x, slots, y, words, more_words, step, cid, blocks, dtype):
    """The sum of `x` over all ranks to `y` of all: row p is summed by rank p, and put to all."""
    part = part_of(y.shape[1], blocks)
    start = cid * part
    total = T.alloc_shared((part,), dtype)
    term = T.alloc_shared((part,), dtype)
    with T.Scale("device") as (r, num):
        all_to_all(x, slots, words, step, cid, blocks)
        T.copy(slots[0, start : start + part], total)
        for s in T.serial(num - 1):
            T.copy(slots[s + 1, start : start + part], term)
            for i in T.Parallel(part):
                total[i] = total[i] + term[i]
        for s in T.serial(num):
            to = (r + s) % num
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
                to = (r + s) % num
                T.put_signal(x[start : start + part], y[start : start + part], words[cid], step, to)
        T.wait_ge(words[cid], step)
