"""Orders and loads ahead that the author of a list of tasks asks for: `T.after`, `T.prefetch`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from end_to_end.test_megakernels import refused
from end_to_end.test_task_prefetch import streamed
from end_to_end.test_task_schedule import repeated
from tile_ir.switches import override

pytestmark = pytest.mark.usefixtures("strict")

ORDERS: list[dict[str, Any]] = [{}, {"seed": 1}, {"starve": "aiv0"}, {"starve": "aic"}]


def scale(tile: int, name: str = "scale", rows: int = 64) -> T.Task:
    return T.Task(kernels.scaled(rows, 64, 2.0, tile), name=name)


def told(source: str) -> list[str]:
    """What the text of a launch has of tasks, words that are waited for, and words counted up."""
    found = re.findall(r"// task (\w+)|(fresh_word)|(add_gm)\(words", source)
    return [next(part for part in parts if part) for parts in found]


@pytest.mark.parametrize("blocks", [(1, 1), (2, 1), (70, 3)])
def test_a_task_begins_once_all_of_another_is_done(blocks: tuple[int, int]) -> None:
    """Two tasks that share nothing, with 1, 2 and more blocks than the chip has cores."""
    rows = max(blocks) * 4
    tiles = [-(-rows // count) for count in blocks]
    first, then = scale(tiles[0], "one", rows)("x", "y"), scale(tiles[1], "two", rows)("v", "z")
    kernel = T.compile(T.megakernel([T.after(first, then), first, then]), out_idx=[2, 3])
    if blocks != (1, 1):
        steps = ["one", "add_gm", "two", "fresh_word"]
        assert [s for s in told(kernel.get_kernel_source()) if s in steps][:4] == steps
    x, v = torch.randn(rows, 64), torch.randn(rows, 64)
    for order in ORDERS:
        with override(**order):
            for found, given in zip(kernel(x, v), (x, v), strict=True):
                torch.testing.assert_close(found, given * 2 + 1)


def test_the_order_may_be_against_that_of_the_list() -> None:
    late, early = scale(8, "late")("x", "y"), scale(16, "early")("v", "z")
    func = T.megakernel([late, early, T.after(early, late)], inputs=["x", "v"])
    assert [s.task.name for s in func.launch.body] == ["early", "late"]


def test_loads_of_a_task_wait_for_what_it_comes_after() -> None:
    norm, gemm = T.Task(kernels.normed(64, 64)), T.Task(kernels.product(64, 64, 64))
    n, g, s = norm("x", "n"), gemm("n", "w", "y"), scale(32)("v", "z")
    sources = [
        T.compile(T.megakernel([n, s, g, *hint], name=f"hint_{len(hint)}")).get_kernel_source()
        for hint in ((), (T.after(s, g),))
    ]
    cubes = [text[text.index("task gemm") : text.index("ASCEND_IS_AIV")] for text in sources]
    assert [text.index("fresh_word") < text.index(", w[") for text in cubes] == [False, True]


def test_an_order_that_closes_a_cycle_is_refused() -> None:
    first, then = scale(8, "one")("x", "h"), scale(16, "two")("h", "y")
    with refused("task-cycle") as error:
        T.megakernel([first, then, T.after(then, first)])
    assert "`one`" in str(error.value) and "`two`" in str(error.value)
    with refused("task-cycle"):
        T.megakernel([first, then, T.after(first, first)])
    with refused("operand-kind.*does not stand in"):
        T.megakernel([first, T.after(first, then)])
    with refused("operand-kind.*more than once"):
        T.megakernel([first, then, then, T.after(first, then)])
    with refused("operand-kind.*T.after orders two tasks"):
        T.after("one", first)


def text_of(*hints: Any) -> T.PrimFunc:
    one, two = scale(8, "one")("x", "h"), scale(16, "two")("v", "z")
    three = T.Task(kernels.added(64, 64))("h", "v", "y")
    return T.megakernel([one, *hints, two, three, T.after(one, two)], outputs=["y", "z"])


def test_text_keeps_orders_and_loads_ahead() -> None:
    func = text_of(T.prefetch("v", np.s_[8:40]))
    text = tile_ir.print_func(func)
    assert re.findall(r"in (task.*) @", text) == [
        'task(0, 8) task "one" threads 2',
        'task(0, 1) task "prefetch_v" threads any ahead automatic sync',
        'task(0, 4) task "two" threads 2 after ("one")',
        'task(0, 8) task "add" threads 2',
    ]
    source = T.compile(func, out_idx=[2, 3]).get_kernel_source()
    assert told(source) == ["one", "add_gm", "prefetch_v", "two", "fresh_word", "add"]
    assert tile_ir.print_func(tile_ir.parse(text)) == text
    wrong = text.replace('after ("one")', 'after ("add")')
    with pytest.raises(tile_ir.IRError, match="task-order"):
        tile_ir.verify(tile_ir.parse(wrong))


REGIONS = [None, 5, np.s_[3:9], np.s_[:, 7:12], np.s_[60:, 63:], (2, 3)]


def test_loads_ahead_leave_results() -> None:
    """Odd parts of a tensor, by 1, 2 and more blocks than there are."""
    hints = [
        T.prefetch("v", region, blocks=blocks)
        for region, blocks in zip(REGIONS, (None, 1, 2, 30, 3, None), strict=True)
    ]
    kernel = T.compile(text_of(*hints), out_idx=[2, 3])
    x, v = torch.randn(64, 64), torch.randn(64, 64)
    for order in ORDERS[:2]:
        with override(**order):
            y, z = kernel(x, v)
        torch.testing.assert_close(y, x * 2 + 1 + v)
        torch.testing.assert_close(z, v * 2 + 1)


def test_loads_ahead_of_any_shape_and_type() -> None:
    """A symbol, a dimension more, elements that share bytes, one dimension; one vector core."""
    n = T.symbolic("n")

    @T.prim_func
    def taken(
        a: T.Tensor((3, n, 40), "int8"), b: T.Tensor((n, 48), "float16"), c: T.Tensor((70,), "int32"),
        y: T.Tensor((32,), "int8"),
    ):  # fmt: skip
        with T.Kernel(1, threads=1):
            t = T.alloc_shared((32,), "int8")
            u = T.alloc_shared((16,), "float16")
            w = T.alloc_shared((8,), "int32")
            T.copy(a[0, 0, 0:32], t)
            T.copy(b[0, 0:16], u)
            T.copy(c[0:8], w)
            T.copy(t, y)

    hints = [T.prefetch(name) for name in "abc"]
    hints += [T.prefetch("a", np.s_[1, 2:9, 5:7]), T.prefetch("c", np.s_[9:])]
    func = T.megakernel([*hints, T.Task(taken)("a", "b", "c", "y")])
    kernel = T.compile(func, out_idx=[-1])
    for size in (1, 9, 700):
        a = torch.randint(-9, 9, (3, size, 40)).to(torch.int8)
        b, c = torch.randn(size, 48).half(), torch.arange(70, dtype=torch.int32)
        assert torch.equal(kernel(a, b, c), a[0, 0, :32])


def test_loads_ahead_keep_their_place_and_take_the_last_blocks() -> None:
    one, two = scale(2, "one")("x", "h"), scale(2, "two")("h", "y")
    three = T.Task(kernels.added(64, 64))("y", "v", "z")
    kernel = T.compile(T.megakernel([one, two, T.prefetch("v", blocks=2), three]), out_idx=[-1])
    source = kernel.get_kernel_source()
    names = [s for s in told(source) if s not in ("fresh_word", "add_gm")]
    assert names == ["one", "two", "prefetch_v", "add"]
    part = source.partition("task prefetch_v")[2]
    assert "blocks = 16" in source and "if ((block_1 + 2) % 16 < 2)" in part


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        (lambda: T.prefetch("h"), "task `one` writes `h`"),
        (lambda: T.prefetch("x"), "no task behind T.prefetch reads `x`"),
    ],
)
def test_loads_that_mean_nothing_are_remarked(hint: Any, says: str) -> None:
    func = text_of(hint())
    (remark,) = func.remarks
    assert remark.slug == "task-prefetch" and says in remark.message
    assert [s.task.name for s in func.launch.body] == ["one", "two", "add"]


def test_parts_that_do_not_exist_are_refused() -> None:
    for hint in (
        T.prefetch("w"), T.prefetch("v", np.s_[60:65]), T.prefetch("v", 64),
        T.prefetch("v", np.s_[9:9]), T.prefetch("v", (0, 0, 0)),
    ):  # fmt: skip
        with refused("task-region"):
            text_of(hint)
    with refused("operand-kind"):
        T.prefetch("v", np.s_[0:8:2])
    with refused("operand-kind"):
        T.prefetch("v", -1)
    with refused("attribute-value"):
        T.prefetch("v", blocks=0)


def test_idle_blocks_load_what_the_next_task_reads() -> None:
    """Four blocks are busy, and twelve load the weights of the product meanwhile."""
    slow, norm = T.Task(repeated(32, 1024, 200)), T.Task(kernels.normed(32, 1024))
    gemm = T.Task(streamed(32, 1024, 1024, 32, 128))
    x, w = torch.randn(32, 1024), torch.randn(1024, 1024).half() / 32
    times, results = [], []
    for hints in ((), (T.prefetch("w", blocks=12),)):
        calls = [slow("x", "h"), norm("h", "n"), *hints, gemm("n", "w", "y")]
        # As idle blocks they would get rows of the sums.
        kernel = T.compile(
            T.megakernel(calls, name=f"idle_{len(hints)}"),
            out_idx=[-1],
            pass_configs={"tl.ascend_retile": False},
        )
        with override(time=True):
            results.append(kernel(x, w))
        times.append(kernel.timeline().microseconds)
    assert torch.equal(*results)
    assert times[1] < 0.97 * times[0]
