"""Two accesses to bytes of one instance, by two cores or by one, with each kind of order between
them: the static check and the simulator in all schedules say what the rules say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from kept_cases import kept_number

import tile_frontend as T
from tile_checkers import prove_ranks
from tile_ir import DEFAULT_TARGET
from tile_passes import run_pipeline
from tile_runtime import compile
from tile_runtime.options.pass_configs import pass_options

from .rank_cases import ORDERED_CONFIGS, OfRank, OfRanks, RankCase, fault, schedules, words

N = 64
# The second access begins in the middle of the first.
MIDDLE = 32
FAR = ("put", "get", "add", "put_async", "get_async")
OWN = ("write", "read", "add_own")
READS = {"get", "get_async", "read"}
ADDS = {"add", "add_own"}


@dataclass(frozen=True)
class Pair:
    """Two accesses to the memory of rank 1. `who` does the second: the "same" core, another "block"
    of its rank, rank 1 as the "owner", or the "third" rank. Rank 0 does the first; if `who` is
    "after", rank 1 does it and rank 0 the second."""

    who: str
    first: str
    second: str
    order: str

    @property
    def ranks(self) -> int:
        return 3 if self.who == "third" else 2

    def races(self) -> bool:
        """What the rules say (docs/language/rules.md#what-is-ordered)."""
        reads = {self.first, self.second} <= READS
        if reads or {self.first, self.second} <= ADDS:
            return False
        if self.first.endswith("async"):  # nobody waits for the engine, whose queue is in order
            return not (self.who == "same" and self.second.endswith("async"))
        if self.who == "same" or self.order == "barrier":
            return False
        if self.order == "none":
            return True
        # A word tells of stores to another rank only what their core has waited for, and that rank
        # what stands before a fence.
        behind = self.order == "quiet, signal" or (self.order, self.who) == (
            "fence, signal",
            "owner",
        )
        return self.first in ("put", "add") and not behind


@T.macro
def access(kind, x, y, z, at, pe):
    if kind == "put":
        T.put(x, y[at : at + N], pe)
    elif kind == "get":
        T.get(y[at : at + N], z, pe)
    elif kind == "put_async":
        T.put_async(x, y[at : at + N], pe)
    elif kind == "get_async":
        T.get_async(y[at : at + N], z, pe)
    elif kind == "write":
        T.copy(x, y[at : at + N])
    elif kind == "read":
        T.copy(y[at : at + N], z)
    else:
        t = T.alloc_ub((N,), "float32")
        T.copy(x, t)
        if kind == "add":
            T.atomic_add(y[at : at + N], t, dst_pe=pe)
        else:
            T.atomic_add(y[at : at + N], t)


def kernel_of(pair: Pair) -> T.PrimFunc:
    order = pair.order.split(", ")
    one = 1 if pair.who == "after" else 0
    two = {"same": 0, "block": 0, "owner": 1, "third": 2, "after": 0}[pair.who]
    blocks = 2 if pair.who == "block" else 1
    other = blocks - 1

    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((2 * N,), "float32"),
        z: T.Tensor((N,), "float32"),
        word: T.Signals(1),
        more: T.Tensor((N,), "float32"),
    ) -> None:
        with T.Kernel(blocks, threads=1) as cid, T.Scale("device") as (r, num):
            if r == one and cid == 0:
                access(pair.first, x, y, z, 0, 1)
                if "quiet" in order:
                    T.quiet()
                if "fence" in order:
                    T.fence()
                if "signal" in order:
                    T.signal(word[0], 1, two)
            if "barrier" in order:
                T.barrier()
            if r == two and cid == other:
                if "signal" in order:
                    T.wait_ge(word[0], 1)
                access(pair.second, x, y, more, MIDDLE, 1)
            T.barrier()

    return kernel


def pairs() -> Iterator[Pair]:
    orders = ("none", "signal", "fence, signal", "quiet, signal", "barrier")
    for first, second, order in product(FAR, FAR, ("none", "fence", "quiet")):
        yield Pair("same", first, second, order)
    for who, order in product(("block", "third"), orders):
        if (who, order) != ("block", "barrier"):
            yield from (Pair(who, a, b, order) for a, b in product(FAR, FAR[:3]))
    for order in orders:
        yield from (Pair("owner", a, b, order) for a, b in product(FAR, OWN))
        yield from (Pair("after", a, b, order) for a, b in product(OWN, FAR))


PAIRS = list(pairs())
# Pairs whose number has no factor in common with the parts come from all kinds.
STEP = 37


def some(count: int) -> list[Pair]:
    return [PAIRS[i * STEP % len(PAIRS)] for i in range(min(count, len(PAIRS)))]


def test_the_static_check_follows_the_rules() -> None:
    for pair in some(kept_number(len(PAIRS))):
        func = run_pipeline(kernel_of(pair), DEFAULT_TARGET, pass_options(ORDERED_CONFIGS)).func
        found = {d.slug for d in prove_ranks(func, [pair.ranks]).findings}
        assert ("race" in found) == pair.races(), pair


@pytest.mark.parametrize(
    "pair",
    [
        Pair("same", "put", "get", "none"),
        Pair("same", "put", "put", "none"),
        Pair("block", "put", "put", "fence, signal"),
        Pair("third", "put", "get", "fence, signal"),
        *some(kept_number(40)),
    ],
    ids=str,
)
def test_the_simulator_follows_the_rules(pair: Pair) -> None:
    x = np.arange(pair.ranks * N, dtype=np.float32).reshape(pair.ranks, N)
    y = OfRanks(np.zeros((pair.ranks, 2 * N), np.float32))
    arguments: tuple[Any, ...] = (OfRank(x), y, OfRank(0 * x), words(pair.ranks, 1), OfRank(0 * x))
    case = RankCase("", "", (), pair.ranks, arguments, {})
    kernel = compile(kernel_of(pair), pass_configs=ORDERED_CONFIGS)
    told = [fault(case, kernel, seed, way, calls=1) for seed, way in schedules(8)]
    slugs = {"" if error is None else error.slug for error in told}
    open_at_end = "async" in pair.first + pair.second
    assert len(slugs) == 1
    # A signal too early and an open transfer are told of before what they lead to.
    others = {"unquiet-signal", *(["transfer-open"] if open_at_end else [])}
    assert slugs <= others | {
        "race" if pair.races() else "" if not open_at_end else "transfer-open"
    }
