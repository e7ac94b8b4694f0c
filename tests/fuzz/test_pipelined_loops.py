"""Pipelined loops of every extent, number of stages and first round: as many rounds as there are
stages, fewer, none. Each gives what the loop gives as it is written, and each round is there once;
bounds known when the kernel is compiled and not."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from kept_cases import kept

import tile_ir
from fuzz.kernels import in_given_orders, in_pipelines, line_by_line
from fuzz.test_loop_shapes import branch, loop
from fuzz.verdict import check, opinions
from tile_ir import Automatic, For, Func, Phase
from tile_ir.traversal import walk
from tile_passes import apply_passes

STAGES = range(1, 5)
EXTENTS = range(10)

HEAD = """file 0 "k.py"
func "k" phase pipelined @0:1:1 {
  tensor $x: float32 [24, 8] @0:1:1
  tensor $y: float32 [24, 8] @0:1:1
  scalar %n: int32
  scalar %m: int32
  launch blocks(1) %cid %vid threads 1 @0:1:1 {
    alloc $u: ub float32 [1, 8] @0:1:1
    alloc $v: ub float32 [1, 8] @0:1:1
    alloc $w: ub float32 [1, 8] @0:1:1
    alloc $s: ub float32 [1, 8] @0:1:1
    section vector @0:1:1 {
"""


def load(tile: str, row: str = "%i") -> str:
    return f"copy_gm_ub($x[({row}) % 24:+1, 0:+8], ${tile}) {{pad_value=0.0}}\n"


def add(to: str, of: str, other: str) -> str:
    return f"add(${to}, ${of}, {other})\n"


def store(tile: str, row: str = "%i") -> str:
    return f"copy_ub_gm(${tile}, $y[({row}) % 24:+1, 0:+8])\n"


WORK = add("w", "u", "1.0") + store("w")
BODIES = {
    "load, work, store": load("u") + WORK,
    "by twos": load("u", "%i * 2") + add("w", "u", "1.0") + store("w", "%i * 2"),
    "backwards": load("u", "23 - %i") + add("w", "u", "1.0") + store("w", "23 - %i"),
    "two loads": load("u") + load("v", "%i + 1") + add("w", "u", "$v") + store("w"),
    "in place": load("u") + add("u", "u", "2.0") + store("u"),
    "overwritten after it is read": load("u") + WORK + load("u", "%i + 1") + add("w", "u", "$u") + store("w", "%i + 12"),
    "used in two rounds": add("w", "v", "1.0") + load("v") + store("w"),
    "a sum over all rounds": load("u") + add("s", "s", "$u") + store("s"),
    "an element": load("u") + branch("$u[0, 1] > 0.5", WORK) + load("v", "%i + 1") + add("w", "u", "$v[0, 2]") + store("w", "%i + 12"),
    "in one branch": branch("%i % 2 < 1", load("u") + WORK),
    "loaded in both branches": "if %i % 2 < 1 {\n" + load("u") + "} else {\n" + load("u", "%i + 1") + "}\n" + WORK,
    "a loop inside": load("u") + add("w", "u", "1.0") + loop("j", "%m", add("w", "w", "$u")) + store("w"),
    "loads inside": load("u") + loop("j", "%m", load("v", "%j") + add("w", "u", "$v") + store("w", "%i + %j")),
    "left early": load("u") + branch("%i > %m + 3", "break\n") + WORK,
}  # fmt: skip
# What has a version for each stage; of other tiles, rounds take what is there.
VERSIONS = {
    "load, work, store": "uw",
    "used in two rounds": "w",
    "a sum over all rounds": "u",
    "an element": "uw",
    "left early": "",
}


def program(text: str, stages: int) -> Func:
    """All tiles are written, the loops run, and what they leave behind is stored; one statement a
    line. All loops are pipelined ones."""
    tiles = "".join(f"fill(${tile}, {number}.0)\n" for number, tile in enumerate("uvws"))
    behind = store("v", "22") + store("s", "23")
    func = line_by_line(HEAD, tiles + text + behind, "}\n}\n}\n")
    func = replace(func, automatic=frozenset({Automatic.SYNC}))
    return func.with_body(in_pipelines(func.launch.body, lambda: stages)).at_phase(Phase.SPLIT)


KNOWN = kept(product(BODIES, STAGES, EXTENTS, (0, 3)), 60)
AT_RUN_TIME = kept(product(BODIES, STAGES, ("%n", "%m + %n * 2", "%m + %n + 5")), 40)


@pytest.mark.parametrize(("body", "stages", "extent", "start"), KNOWN)
def test_known_bounds(body: str, stages: int, extent: int, start: int) -> None:
    _equal(loop("i", start + extent, BODIES[body], start), stages)


@pytest.mark.parametrize(("body", "stages", "stop"), AT_RUN_TIME)
def test_bounds_known_at_run_time(body: str, stages: int, stop: str) -> None:
    _equal(loop("i", stop, BODIES[body], "%m" if "%m" in stop else 0), stages)


@pytest.mark.parametrize("seed", kept(range(120), 16))
def test_nests_that_share_tiles(seed: int) -> None:
    """Loops in loops, each of which writes the same few tiles anew, in any order and stages."""
    rng = random.Random(f"nest {seed}")
    func = program(loop("i", rng.choice(("%n", 3, 5)), _nest(rng, "ijk")), rng.randint(1, 3))
    _agreed(in_given_orders(func, rng), tight=seed % 3 == 0)


def _nest(rng: random.Random, variables: str) -> str:
    """Three to six statements of a loop, one of them a loop. What they read of `u`, `v` and `w` they
    wrote; sums go from one to the next."""
    row, written, text = f"%{variables[0]}", "", ""
    count = rng.randint(3, 6)
    inner = rng.randrange(count) if len(variables) > 1 else count
    for number in range(count):
        tile = rng.choice("uvw")
        if number == inner:
            text += loop(variables[1], rng.choice(("%m", 2, 3)), _nest(rng, variables[1:]))
        elif not written or rng.random() < 0.3:
            text += rng.choice((load(tile, f"{row} + 2"), f"fill(${tile}, {number}.5)\n"))
            written += tile
        elif rng.random() < 0.2:
            text += store(rng.choice(written), f"{row} * 2 + {number}")
        elif rng.random() < 0.5:
            text += add("s", "s", f"${rng.choice(written)}")
        else:
            text += add(tile, rng.choice(written), f"${rng.choice(written)}")
            written += tile
    return text


def _equal(text: str, stages: int) -> None:
    _agreed(program(text, stages))


def _agreed(func: Func, tight: bool = False) -> None:
    failure = check(func, 0, opinions(), compared=5, tight=tight).failure
    assert failure is None, f"{failure.kind}: {failure.message}"


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("body", VERSIONS)
def test_which_tiles_have_versions(body: str, stages: int) -> None:
    func = program(loop("i", 6, BODIES[body]), stages)
    new = apply_passes(func, ["inject_pipeline"], tile_ir.DEFAULT_TARGET)
    assert not any(isinstance(s, For) and s.stages for s in walk(new.launch.body))
    versions = {a.buffer.name: a.buffer.static_shape() for a in new.launch.allocs}
    expected = {t: (max(2, stages), 1, 8) if t in VERSIONS[body] else (1, 8) for t in "uvws"}
    assert versions == expected
