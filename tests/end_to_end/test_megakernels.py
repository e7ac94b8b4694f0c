"""Kernels as tasks of one launch: results as of the kernels one by one, at every order of cores."""

from __future__ import annotations

import pickle
import random
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from tile_ir.switches import override
from tile_passes.tasks.edges import edges_between
from tile_runtime.launcher import kept_words

pytestmark = pytest.mark.usefixtures("strict")

ORDERS = [{}, {"seed": 1}, {"seed": 2}, {"starve": "aic"}, {"starve": "aiv0"}, {"starve": "aiv1"}]


def elementwise(rows: int = 320) -> T.PrimFunc:
    scale, back = T.Task(kernels.scaled(rows, 64, 2.0)), T.Task(kernels.reversed_rows(rows, 64))
    add = T.Task(kernels.added(rows, 64))
    return T.megakernel([scale("x", "h"), back("h", "g"), scale("g", "f"), add("x", "f", "y")])


def test_chain_and_fan_in() -> None:
    kernel = T.compile(elementwise(), out_idx=[-1])
    for order in ORDERS:
        x = torch.randn(320, 64)
        back = (x * 2 + 1).view(40, 8, 64).flip(0).reshape(320, 64)
        with override(**order):
            torch.testing.assert_close(kernel(x), x + (back * 2 + 1))


def layers() -> T.PrimFunc:
    norm = T.Task(kernels.normed(64, 128))
    gemm = T.Task(kernels.product(64, 96, 128))
    relu = T.Task(kernels.activated_product(64, 96, 128))
    add = T.Task(kernels.added(64, 96))
    return T.megakernel(
        [norm("x", "n"), gemm("n", "w", "p"), relu("n", "v", "q"), add("p", "q", "y")]
    )


def test_norm_products_and_sum() -> None:
    kernel = T.compile(layers(), out_idx=[-1])
    one_by_one = [
        T.compile(k, out_idx=[-1])
        for k in (
            kernels.normed(64, 128), kernels.product(64, 96, 128),
            kernels.activated_product(64, 96, 128), kernels.added(64, 96),
        )
    ]  # fmt: skip
    norm, gemm, relu, add = one_by_one
    for order in ORDERS:
        x, w, v = torch.randn(64, 128), torch.randn(128, 96).half(), torch.randn(128, 96).half()
        n = norm(x)
        with override(**order):
            found = kernel(x, w, v)
        assert torch.equal(found, add(gemm(n, w), relu(n, v)))


def test_text_round_trip_and_interpreter() -> None:
    import numpy as np

    func = elementwise(32)
    tile_ir.verify(func)
    text = tile_ir.print_func(func)
    assert tile_ir.print_func(tile_ir.parse(text, "x")) == text
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    y = np.zeros_like(x)
    tile_ir.interpret(func, [x, y], in_text_order=True)
    back = (x * 2 + 1).reshape(4, 8, 64)[::-1].reshape(32, 64)
    np.testing.assert_allclose(y, x + (back * 2 + 1), rtol=1e-6)


def random_tasks(seed: int, count: int, rows: int = 64) -> tuple[T.PrimFunc, list[Any]]:
    """A graph of small tasks, and what each does: a function and the names it reads and writes.
    Tensors are written again at times, so that later writers wait for earlier readers."""
    chance = random.Random(seed)
    tile = chance.choice([8, 16, 32])
    scale, back = kernels.scaled(rows, 64, 0.5, tile), kernels.reversed_rows(rows, 64, tile)
    add = kernels.added(rows, 64, chance.choice([8, 16]))
    calls = [T.Task(add)("x", "z", "t")]
    steps: list[Any] = [(torch.add, ("x", "z"), "t")]
    known = ["x", "z", "t"]
    for n in range(count):
        kind, source = chance.choice(["scale", "back", "add"]), chance.choice(known[-6:])
        other, old = chance.choice(known[-6:]), chance.choice(known)
        again = chance.random() < 0.25 and old not in ("x", "z", source, other)
        result = old if again else f"t{n}"
        known += [] if again else [result]
        if kind == "add":
            calls.append(T.Task(add)(source, other, result))
            steps.append((lambda a, b: a + b, (source, other), result))
        elif kind == "scale":
            calls.append(T.Task(scale)(source, result))
            steps.append((lambda a: a * 0.5 + 1, (source,), result))
        else:
            calls.append(T.Task(back)(source, result))
            flip = partial(_flipped, tile=tile)
            steps.append((flip, (source,), result))
    made = list(dict.fromkeys(step[2] for step in steps))
    return T.megakernel(calls, inputs=["x", "z"], outputs=made[-3:]), steps


def _flipped(a: torch.Tensor, tile: int) -> torch.Tensor:
    return a.view(-1, tile, 64).flip(0).reshape(a.shape)


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    func, steps = random_tasks(seed, 12)
    outputs = [p.name for p in func.params][2:]
    kernel = T.compile(func, out_idx=[-3, -2, -1])
    for order in ORDERS:
        values = {"x": torch.randn(64, 64), "z": torch.randn(64, 64)}
        x, z = values["x"], values["z"]
        for compute, sources, result in steps:
            values[result] = compute(*(values[s] for s in sources))
        with override(**order):
            found = kernel(x, z)
        for name, tensor in zip(outputs, found, strict=True):
            torch.testing.assert_close(tensor, values[name])


@pytest.mark.parametrize("dropped", range(3))
def test_every_edge_is_needed(dropped: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """x -> h -> g -> f -> y in a chain: without any one wait the simulator reports a race."""
    from tile_passes.tasks import join

    def without_one(*placed: Any) -> Any:
        edges = edges_between(*placed)
        assert [(e.first, e.then) for e in edges] == [(0, 1), (1, 2), (2, 3)]
        return edges[:dropped] + edges[dropped + 1 :]

    monkeypatch.setattr(join, "edges_between", without_one)
    back, scale = T.Task(kernels.reversed_rows(64, 64)), T.Task(kernels.reversed_rows(64, 64, 32))
    func = T.megakernel(
        [back("x", "h"), scale("h", "g"), back("g", "f"), scale("f", "y")], name=f"less_{dropped}"
    )
    with override(cache=False):
        kernel = T.compile(func, out_idx=[-1])
        with pytest.raises(tile_ir.TileError, match="race|unwritten|uninit"):
            kernel(torch.randn(64, 64))


def test_words_begin_anew_at_their_end_and_after_failures() -> None:
    """Each call counts one up; nothing is set back between calls."""
    kernel = T.compile(elementwise(64), out_idx=[-1])
    x = torch.randn(64, 64)
    expected = kernel(x)
    kept = kernel._kept
    (device,) = kept.calls
    assert kept.calls[device] == 1
    for count in (2, 3):
        assert torch.equal(kernel(x), expected) and kept.calls[device] == count
    ((words,),) = kept._words[device]
    assert set(words.unique().tolist()) == {0, 3}
    words *= (kept_words.LAST_CALL - 1) // 3
    kept.calls[device] = (kept_words.LAST_CALL - 1) // 3 * 3
    while kept.calls[device] < kept_words.LAST_CALL - 1:
        assert torch.equal(kernel(x), expected)
    assert torch.equal(kernel(x), expected) and kept.calls[device] == kept_words.LAST_CALL
    assert torch.equal(kernel(x), expected) and kept.calls[device] == 1
    kept.begin_anew()
    assert torch.equal(kernel(x), expected) and kept.calls[device] == 1


def test_ten_thousand_steps() -> None:
    kernel = T.compile(elementwise(16), out_idx=[-1])
    x = torch.randn(16, 64)
    expected = kernel(x)
    with override(check="off"):
        for _ in range(10_000):
            found = kernel(x)
    assert torch.equal(found, expected)


def scale(name: str = "scale") -> T.Task:
    return T.Task(kernels.scaled(64, 64, 2.0), name=name)


def refused(slug: str) -> Any:
    return pytest.raises(tile_ir.KernelError, match=slug)


def test_tasks_that_wait_for_each_other() -> None:
    add = T.Task(kernels.added(64, 64))
    with refused("task-cycle") as error:
        T.megakernel([add("x", "b", "a"), scale()("a", "b")], inputs=["x"], outputs=["a"])
    assert "`add`" in str(error.value) and "`scale`" in str(error.value)


def test_a_task_may_stand_before_the_one_it_needs() -> None:
    func = T.megakernel([scale("late")("h", "y"), scale("first")("x", "h")])
    assert [s.task.name for s in func.launch.body] == ["first", "late"]
    x = torch.randn(64, 64)
    torch.testing.assert_close(T.compile(func, out_idx=[-1])(x), (x * 2 + 1) * 2 + 1)


@pytest.mark.parametrize("name", ["inputs", "outputs"])
def test_scalars_are_no_tensors(name: str) -> None:
    @T.prim_func
    def shift(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(1) as cid:
            T.copy(X, Y)

    tensors = {"inputs": ["x"], "outputs": ["y"]}
    with refused("task-region") as error:
        T.megakernel([T.Task(shift)("x", "y", "n")], **(tensors | {name: [*tensors[name], "n"]}))
    assert "`n` is a scalar of tasks" in str(error.value)


def test_regions_nobody_writes() -> None:
    with refused("task-region"):
        T.megakernel([scale()("h", "y")], inputs=[], outputs=["y"])
    with refused("task-region"):
        T.megakernel([scale()("x", "y")], inputs=["x", "w"], outputs=["y"])
    with refused("task-region"):
        T.megakernel(
            [scale()("h", "y"), scale()("x", "h"), scale()("y", "h")],
            inputs=["x"], outputs=["y"],
        )  # fmt: skip


def test_sizes_types_and_grids_that_do_not_fit() -> None:
    with refused("task-grid"):
        T.Task(kernels.scaled(64, 64, 2.0), grid=3)
    with refused("shape-mismatch"):
        T.megakernel([scale()("x", "h"), T.Task(kernels.scaled(64, 32, 2.0))("h", "y")])
    with refused("dtype-mismatch"):
        T.megakernel([T.Task(kernels.normed(64, 64))("x", "h"), scale()("h", "y")])
    with refused("arity"):
        scale()("x")


def test_several_launches_are_several_tasks() -> None:
    @T.prim_func
    def twice(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            T.copy(X, Y)
        with T.Kernel(1):
            T.copy(Y, X)

    with refused("several-launches") as error:
        T.Task(twice)
    assert "`twice` has 2 launches" in str(error.value)


def test_barriers_of_all_blocks_are_refused() -> None:
    with refused("task-sync"):
        T.Task(kernels.with_barrier())


@pytest.mark.parametrize("sets, answers, right", [(15, 1, True), (16, 1, False), (40, 8, True)])
def test_signals_above_a_counter_are_refused(sets: int, answers: int, right: bool) -> None:
    """Vector cores signal the cube core, which signals back after so many."""
    between = sets // answers
    flags = T.Task(kernels.signalling(answers, between))
    func = T.megakernel([flags("x", "h"), T.Task(kernels.scaled(2, 64, 2.0, 2))("h", "y")])
    if not right:
        with refused("task-flags") as error:
            T.compile(func, out_idx=[-1])
        assert f"up to {sets} times" in str(error.value) and "`signal`" in str(error.value)
        return
    x = torch.randn(2, 64)
    torch.testing.assert_close(T.compile(func, out_idx=[-1])(x), x * 2 + 1)


def test_memory_of_temporaries_is_shared() -> None:
    """A chain of eight tasks has two temporaries at a time, and `apart` one for each."""

    def chain(buffers: str) -> int:
        names = ["x", *(f"t{n}" for n in range(7)), "y"]
        calls = [scale()(a, b) for a, b in pairwise(names)]
        func = T.megakernel(calls, buffers=buffers)
        rooms = [a for a in func.launch.allocs if a.buffer.memory is tile_ir.Memory.GM]
        x = torch.randn(64, 64)
        expected = x
        for _ in range(8):
            expected = expected * 2 + 1
        torch.testing.assert_close(T.compile(func, out_idx=[-1])(x), expected)
        return len(rooms)

    assert (chain("planned"), chain("apart")) == (2, 7)


def test_blocks_wait_only_for_what_others_wrote() -> None:
    """Rows stay on the block that made them; where they change places, all wait; and who waits for
    a task need not wait for those before it."""

    def edges(func: T.PrimFunc) -> list[tuple[int, int]]:
        from tile_passes import run_pipeline
        from tile_passes.tasks.split import tasks_of

        tasks = [run_pipeline(task, tile_ir.DEFAULT_TARGET).func for task in tasks_of(func)]
        return [(e.first, e.then) for e in edges_between(tasks, 24)]

    back, half = T.Task(kernels.reversed_rows(64, 64)), T.Task(kernels.scaled(64, 64, 1.0, 16))
    add = T.Task(kernels.added(64, 64))
    assert edges(T.megakernel([scale()("x", "h"), scale()("h", "y")])) == []
    assert edges(T.megakernel([scale()("x", "h"), back("h", "y")])) == [(0, 1)]
    assert edges(T.megakernel([scale()("x", "h"), half("h", "y")])) == [(0, 1)]
    chain = [scale()("x", "h"), back("h", "g"), scale()("g", "f"), add("h", "f", "y")]
    assert edges(T.megakernel(chain)) == [(0, 1)]
    kernel = T.compile(T.megakernel([scale()("x", "h"), scale()("h", "y")]), out_idx=[-1])
    x = torch.randn(64, 64)
    torch.testing.assert_close(kernel(x), (x * 2 + 1) * 2 + 1)
    assert "fresh_word" not in kernel.get_kernel_source()


def test_blocks_that_nobody_waits_for_say_nothing() -> None:
    """Only the second half of the rows is read: the words of the first half stay 0."""

    @T.prim_func
    def second_half(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((32, 64), "float32")):
        with T.Kernel(4, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((8, 64), "float32")
            T.copy(X[32 + (3 - cid) * 8, 0], a)
            T.copy(a, Y[cid * 8, 0])

    func = T.megakernel([scale()("x", "h"), T.Task(second_half)("h", "y")], inputs=["x"])
    kernel = T.compile(func, out_idx=[-1])
    x = torch.randn(64, 64)
    for _ in range(2):
        expected = (x[32:] * 2 + 1).view(4, 8, 64).flip(0).reshape(32, 64)
        torch.testing.assert_close(kernel(x), expected)
    ((words,),) = next(iter(kernel._kept._words.values()))
    assert words[0, :, 0].tolist() == [0] * 4 + [2] * 4


def test_a_task_without_room() -> None:
    wide = T.Task(kernels.scaled(64, 65536, 2.0, 32))
    func = T.megakernel([wide("x", "h"), wide("h", "y")])
    with refused("task-memory"):
        T.compile(func, pass_configs={"tl.ascend_auto_sync": True})


def test_pickled_kernels_and_operators_of_torch() -> None:
    kernel = T.compile(layers(), out_idx=[-1])
    x, w, v = torch.randn(64, 128), torch.randn(128, 96).half(), torch.randn(128, 96).half()
    expected = kernel(x, w, v)
    assert torch.equal(pickle.loads(pickle.dumps(kernel))(x, w, v), expected)
    operator = kernel.as_custom_op("megakernels::layers")
    compiled = torch.compile(lambda *given: operator(*given) + 1, backend="eager", fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(x, w, v), expected + 1)


def test_scalars_and_sizes_of_calls() -> None:
    """One binary for any number of rows, with a number and a name for scalars of tasks."""
    shift = T.Task(kernels.shifted(64))
    func = T.megakernel([shift("x", 2, "h"), shift("h", "by", "y")])
    kernel = T.compile(func, out_idx=[1])
    for rows in (1, 7, 64, 300):
        x = torch.randn(rows, 64)
        torch.testing.assert_close(kernel(x, 5), x + 7)
