"""The order between ranks against all moments of random programs, on the examples, on broken
kernels, and on examples with one instruction less."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache

import example_kernels
import pytest
from kept_cases import kept_number

from tile_checkers import check_ranks, prove_ranks
from tile_ir import DEFAULT_TARGET, Diagnostic, Effect, Func, Op, parse, verify
from tile_ir.opdef import Among
from tile_ir.traversal import rewrite, walk_ops
from tile_passes import run_pipeline

from .kernels_of_ranks import counted, examples, final, met, shifted
from .random_ranks import Program, Step, drawn, moments, races, text_of

NUMBERS = (1, 2, 3, 4, 5, 8)
examples_for = cache(examples)


def slugs(found: tuple[Diagnostic, ...]) -> set[str]:
    return {d.slug for d in found}


@pytest.mark.parametrize("ranks", NUMBERS)
def test_examples_are_proved(ranks: int) -> None:
    for name, func in examples_for(ranks).items():
        assert [d.render() for d in check_ranks(func, [ranks])] == [], name


# What each broken kernel has among its findings.
BROKEN = {
    "nobody": "peer-range",
    "loud": "unquiet-signal",
    "silent": "deadlock",
    "early": "race",
    "late": "deadlock",
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_kernels_are_rejected(what: str) -> None:
    assert not check_ranks(final(shifted("")))
    found = check_ranks(final(shifted(what)))
    assert BROKEN[what] in slugs(found)
    assert any(d.severity == "error" for d in found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("all", set()),
        ("both", {"barrier-in-branch"}),
        ("first", {"collective-mismatch", "race"}),
        ("data", {"sync-unproved"}),
        ("device", {"race"}),
        ("", {"race"}),
    ],
)
def test_a_barrier_is_one_of_all_ranks(what: str, expected: set[str]) -> None:
    assert slugs(check_ranks(final(met(what)))) == expected


@pytest.mark.parametrize(("each", "asked"), [(1, 1), (2, 2), (1, 2), (2, 1)])
def test_sums_equal_what_is_waited_for(each: int, asked: int) -> None:
    """Words count on from call to call: each must add as much as the next waits for."""
    found = check_ranks(final(counted(each, asked)))
    assert slugs(found) == (set() if each == asked else {"sync-unproved"})


def test_a_sum_of_a_call_that_needs_no_certain_rank() -> None:
    """Of what two of three ranks carry, nothing is sure."""
    assert slugs(check_ranks(final(counted(1, 1, less=1)))) == {"race"}


def orders(func: Func) -> list[Op]:
    """What orders ranks, and the cores of a block before they signal."""
    return [
        op
        for op in walk_ops(func.launch.body)
        if op.opdef.family == "ranks"
        or (op.opdef.effect is Effect.SYNC_ALL and op.opdef.among is Among.BLOCK)
    ]


# What orders nothing that is read. The signal behind the second half of a piece quiets the first half
# too, whose own wait only keeps cores from using one link at the same time. The cores of a block
# meet before they signal that their rows of the sum are there, in the loop over tiles and behind
# it: nobody reads these before the kernel ends.
UNREAD = [("ag_gemm", "quiet"), ("gemm_ar", "sync_block"), ("gemm_ar", "sync_block")]


def test_whatever_is_left_out_is_noticed() -> None:
    noticed: Counter[str] = Counter()
    missed = []
    for name, func in examples_for(3).items():
        for op in orders(func):
            if op.opdef.name == "barrier":
                continue  # at the end of a kernel: it orders the next call, which is not looked at
            less = func.with_body(
                rewrite(func.launch.body, lambda s, op=op: () if s is op else s)  # type: ignore[misc]
            )
            found = check_ranks(less, [3])
            if not found:
                missed.append((name, op.opdef.name))
                continue
            noticed["error" if any(d.severity == "error" for d in found) else "unproved"] += 1
    assert missed == UNREAD
    # What nobody reads in the kernel is missed only by whoever reads it afterwards.
    assert noticed["error"] > noticed["unproved"]


def test_one_device_has_no_ranks() -> None:
    for func in example_kernels.traced().values():
        assert prove_ranks(run_pipeline(func, DEFAULT_TARGET).func).ranks == ()


def test_numbers_of_ranks_follow_the_tensors() -> None:
    func = examples_for(4)["all_gather"]
    assert prove_ranks(func).ranks == (2, 3, 4)
    assert slugs(check_ranks(func, [5])) == {"sync-unproved"}


TEXT = """file 0 "k.py"
func "k" phase synced @0:1:1 {{
  tensor $y: float32 [%all_ranks, 1024] @0:1:1
  tensor $w: int32 [%all_ranks, 1, 16] @0:1:1
  launch blocks(1) %cid %vid threads 1 @0:1:1 {{
    alloc $u: ub float32 [8] address 0 @0:2:5
    section vector @0:4:5 {{
      if %own_rank == 0 @0:5:7 {{
        {first}
        signal($w[1:+1, 0:+1, 0:+1], 1, none) {{op="set"}} @0:9:9
      }}
      if %own_rank == 1 @0:10:7 {{
        {second}
      }}
    }}
  }}
}}
"""
WAIT = 'wait_signal($w[1:+1, 0:+1, 0:+1], 1) {until="ge"} @0:11:9'
READ = "copy_gm_ub($y[1:+1, %s:+8], $u) {pad_value=0.0} @0:12:9"


def judged(first: str, *second: str) -> set[str]:
    func = parse(TEXT.format(first=first, second="\n".join(second)))
    verify(func)
    return slugs(check_ranks(func, [2]))


@pytest.mark.parametrize(
    ("step", "read", "expected"),
    [
        (8, "160", {"race"}),  # in the middle of the rounds
        (8, "312", {"race"}),
        (8, "320", set()),
        (16, "160", {"race"}),
        (16, "168", set()),  # between two rounds
        (16, "632", set()),
    ],
)
def test_rounds_in_the_middle_count(step: int, read: str, expected: set[str]) -> None:
    rounds = (
        "for %i: int32 in serial(0, 40) @0:6:9 { "
        f"copy_ub_gm($u, $y[1:+1, %i * {step}:+8]) @0:7:9 }} quiet() @0:8:9"
    )
    # Somebody has to know that all is there: the wait comes too late for what is read.
    assert judged(rounds, READ % read, WAIT) == expected
    assert judged(rounds, WAIT, READ % read) == set()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("%root == 0", set()),
        ("%root > 0", {"sync-unproved"}),
        ("$y[0, 0] > 0.0", {"sync-unproved"}),
    ],
)
def test_parameters_that_decide_are_ranks(condition: str, expected: set[str]) -> None:
    """Rank 0 meets rank 1 where the root is 0, or neither meets."""
    meet = f"if {condition} @0:6:9 {{ barrier() @0:7:9 }}"
    text = TEXT.format(first=meet, second=meet).replace(
        "  launch", "  scalar %root: int32\n  launch"
    )
    text = re.sub(r"signal.*\n", "", text)
    func = parse(text)
    verify(func)
    assert slugs(check_ranks(func, [2])) == expected


@pytest.mark.parametrize(
    ("begin", "read", "expected"),
    [
        ("$n[0]", "%own_rank * 8", {"sync-unproved"}),
        # What a rank reads there is no other rank's number.
        ("$n[0]", "$n[0] + 8", {"sync-unproved"}),
        ("%all_ranks * 8", "%all_ranks * 8 + 8", set()),
    ],
)
def test_data_of_two_ranks_are_two_numbers(begin: str, read: str, expected: set[str]) -> None:
    put = f"copy_ub_gm($u, $y[1:+1, {begin}:+8]) @0:6:9 quiet() @0:7:9"
    text = TEXT.format(first=put, second="\n".join((READ % read, WAIT))).replace(
        "  launch", "  tensor $n: int32 [1] @0:1:1\n  launch"
    )
    func = parse(text)
    verify(func)
    assert slugs(check_ranks(func, [2])) == expected


LOOPS = {
    "for": "for %i: int32 in serial(0, $n[0]) @0:6:9 {{ {} }}",
    "while": "store $c[0] = 0 @0:6:9 while $c[0] < $n[0] @0:6:9 {{ store $c[0] = $c[0] + 1 @0:6:9 {} }}",
}


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(
    ("put", "steps", "expected"),
    [
        ("copy_ub_gm($u, $y[1:+1, {}:+8]) @0:7:9", (WAIT, READ % "0"), set()),
        ("copy_ub_gm($u, $y[1:+1, {}:+8]) @0:7:9", (READ % "0", WAIT), {"sync-unproved"}),
        ("copy_ub_gm($u, $y[1:+1, 512:+8]) @0:7:9", (READ % "0", WAIT), set()),
        ("quiet() @0:7:9 signal($w[1:+1, 0:+1, 0:+1], 1, none) {{op=\"set\"}} @0:7:9",
         (WAIT, READ % "0"), {"sync-unproved"}),
    ],
)  # fmt: skip
def test_rounds_of_any_number(
    kind: str, put: str, steps: tuple[str, ...], expected: set[str]
) -> None:
    """How often a loop runs depends on data: what it touches is known all the same."""
    moving = "%i" if kind == "for" else "$c[0]"
    loop = LOOPS[kind].format(put.format(moving)) + " quiet() @0:8:9"
    text = TEXT.format(first=loop, second="\n".join(steps)).replace(
        "  launch", "  tensor $n: int32 [1] @0:1:1\n  launch"
    )
    text = text.replace("    alloc", "    alloc $c: var int32 [1] @0:2:5\n    alloc", 1)
    func = parse(text)
    verify(func)
    assert slugs(check_ranks(func, [2])) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("store $w[1, 0, 0] = 0 @0:13:9", WAIT), {"race"}),
        ((WAIT, "store $w[1, 0, 0] = 0 @0:13:9"), set()),
        ((WAIT, "let %seen: int32 = $w[1, 0, 0] @0:13:9"), set()),
    ],
)
def test_words_may_be_touched_otherwise(steps: tuple[str, ...], expected: set[str]) -> None:
    put = "copy_ub_gm($u, $y[1:+1, 0:+8]) @0:6:9 quiet() @0:7:9"
    assert judged(put, *steps) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [("quiet", set()), ("fence", set()), ("", {"unquiet-signal", "race"})],
)
def test_fences_order_stores_to_one_rank(order: str, expected: set[str]) -> None:
    put = "copy_ub_gm($u, $y[1:+1, 0:+8]) @0:6:9 "
    call = f"{order}() @0:7:9" if order else ""
    assert judged(put + call, WAIT, READ % "0") == expected


def test_random_programs_are_judged_as_by_all_their_moments() -> None:
    rng, judgements = random.Random(7), Counter[str]()
    for _ in range(kept_number(240)):
        program = drawn(rng)
        func = parse(text_of(program))
        verify(func)
        found = check_ranks(func, [3])
        reached, hangs = moments(program)
        if any("unknown" in d.message for d in found):
            judgements["left to the simulator"] += 1
        elif hangs:
            assert slugs(found) & {"deadlock", "collective-mismatch"}, program
        else:
            assert not slugs(found) & {"deadlock", "collective-mismatch"}, program
            assert pairs(found) == races(program, reached), program
            judgements["judged"] += 1
    assert judgements["judged"] > judgements["left to the simulator"]


def told(rank: int, place: int, kind: str, word: int, value: int) -> tuple[Step, ...]:
    return Step("put", rank, place), Step("quiet"), Step(kind, rank, word, value)


def seen(rank: int, word: int, value: int, place: int) -> tuple[Step, ...]:
    return Step("wait", rank, word, value), Step("get", rank, place)


# Two additions of which one is enough, both behind one store: of that store the wait is sure. The
# third program reads behind a wait that needs more than the one before it.
EITHER: tuple[Program, ...] = (
    (
        (*told(2, 0, "tell", 0, 1), *told(1, 1, "add", 0, 1)),
        (*seen(1, 0, 1, 1), Step("put", 2, 0)),
        (*seen(2, 0, 1, 0), *told(1, 0, "add", 0, 1)),
    ),
    (
        (*told(2, 0, "tell", 0, 2), *told(1, 0, "add", 1, 1)),
        (*seen(1, 1, 1, 0), Step("put", 2, 0), *seen(1, 1, 1, 0)),
        (*seen(2, 0, 2, 0), *told(1, 0, "add", 1, 1)),
    ),
    (
        (*seen(0, 0, 1, 0), *told(2, 0, "add", 1, 1)),
        (*told(0, 0, "tell", 0, 1), *told(2, 1, "add", 1, 2)),
        (*seen(2, 1, 1, 0), Step("put", 0, 0), *seen(2, 1, 2, 1), *seen(2, 1, 1, 0)),
    ),
)


@pytest.mark.parametrize("program", EITHER)
def test_of_two_signals_the_common_part_is_sure(program: Program) -> None:
    found = check_ranks(parse(text_of(program)), [3])
    reached, hangs = moments(program)
    assert not hangs and pairs(found) == races(program, reached) != set()


def pairs(found: tuple[Diagnostic, ...]) -> set[frozenset[tuple[int, int]]]:
    """The steps that race, by the lines they are written to."""
    result = set()
    for d in found:
        if d.slug == "race" and d.loc is not None:
            other = re.search(r"with line (\d+)", d.message)
            assert other is not None
            lines = (d.loc.line - 10, int(other[1]) - 10)
            result.add(frozenset((n // 100, n % 100) for n in lines))
    return result
