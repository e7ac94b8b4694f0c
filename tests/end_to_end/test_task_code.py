"""How much code tasks are: counted from the final text, said by `explain_tasks`, and a remark where
the instruction cache of a core is smaller."""

from __future__ import annotations

import pytest

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from tile_ir import Core
from tile_passes import explain_tasks, run_pipeline
from tile_passes.tasks.code_size import body_changes, large_bodies, task_code


def final(func: T.PrimFunc) -> tile_ir.Func:
    return run_pipeline(func, tile_ir.DEFAULT_TARGET).func


def test_a_count_by_hand() -> None:
    """x -> h -> y, rows reversed: on vector cores 8 tiles of 8 rows, half of each for a core."""
    scale, back = T.Task(kernels.scaled(64, 64, 2.0)), T.Task(kernels.reversed_rows(64, 64))
    func = final(T.megakernel([scale("x", "h"), back("h", "y")]))
    code = task_code(func)
    assert [task.name for task in code] == ["scale", "reverse"]
    assert all(set(task.bytes) == {Core.VECTOR} for task in code)
    assert body_changes(code, Core.VECTOR) == 1 and body_changes(code, Core.CUBE) == 0
    (section,) = func.launch.body
    assert isinstance(section, tile_ir.Section)
    first = next(s for s in section.body if isinstance(s, tile_ir.For))
    names = [op.opdef.name for op in tile_ir.walk_ops(first.body)]
    # Flags, barriers and words are an instruction each.
    order = [n for n in names if tile_ir.OPS[n].effect is not tile_ir.Effect.DATA]
    assert names.count("copy_gm_ub") == names.count("copy_ub_gm") == 1 and len(order) == 7
    assert code[0].bytes[Core.VECTOR] == 4 * hand_count(first)


def hand_count(task: tile_ir.For) -> int:
    """Spelled out without the rules of the package: by what is printed of each statement."""
    count = 0
    for stmt in tile_ir.walk(task.body):
        match stmt:
            case tile_ir.Op() if stmt.opdef.effect is not tile_ir.Effect.DATA:
                count += 1
            case tile_ir.Op():
                regions = [o for o in stmt.operands if isinstance(o, tile_ir.Region)]
                scalars = [o for o in stmt.operands if isinstance(o, tile_ir.Expr)]
                count += 1 + len(regions) + sum(map(nodes, scalars))
                count += sum(nodes(s.offset) + nodes(s.extent) for r in regions for s in r.dims)
            case tile_ir.Let(value=value):
                count += nodes(value)
            case tile_ir.If(condition=condition):
                count += nodes(condition) + 1
            case _:
                raise AssertionError(f"{type(stmt).__name__} in a small case")
    return count


def nodes(expr: tile_ir.Expr) -> int:
    return 1 + sum(map(nodes, tile_ir.children(expr)))


def test_bodies_are_said_core_by_core() -> None:
    norm, gemm = T.Task(kernels.normed(64, 128)), T.Task(kernels.product(64, 96, 128))
    relu, add = T.Task(kernels.activated_product(64, 96, 128)), T.Task(kernels.added(64, 96))
    func = final(
        T.megakernel([norm("x", "n"), gemm("n", "w", "p"), relu("n", "v", "q"), add("p", "q", "y")])
    )
    code = {task.name: task.bytes for task in task_code(func)}
    assert code["gemm"][Core.CUBE] > code["norm"].get(Core.CUBE, 0)
    assert code["gemm_relu"][Core.CUBE] > 0 and code["gemm_relu"][Core.VECTOR] > 0
    text = explain_tasks(func)
    assert f"cube {code['gemm'][Core.CUBE]} B" in text and "cube cores: " in text
    assert "3 changes" in text
    assert "no tasks" in explain_tasks(final(kernels.added(64, 64)))


def test_a_body_above_the_cache_is_remarked() -> None:
    @T.prim_func
    def long(X: T.Tensor((8, 64), "float32"), Y: T.Tensor((8, 64), "float32")):
        with T.Kernel(8, threads=1, is_npu=True) as cid:
            a = T.alloc_shared((1, 64), "float32")
            T.copy(X[cid, 0], a)
            for _ in T.unroll(8):
                for _ in T.unroll(8):
                    for _ in T.unroll(8):
                        for i, j in T.Parallel(1, 64):
                            a[i, j] = a[i, j] * 1.5 + 1.0
            T.copy(a, Y[cid, 0])

    task = T.Task(kernels.scaled(8, 64, 2.0))
    small = final(T.megakernel([task("x", "h"), task("h", "y")]))
    assert not list(large_bodies(small)) and not [
        r for r in small.remarks if r.slug == "task-code-size"
    ]
    large = final(T.megakernel([T.Task(long)("x", "h"), task("h", "y")]))
    found = [r for r in large.remarks if r.slug == "task-code-size"]
    if not found:
        pytest.fail(f"no remark: {explain_tasks(large)}")
    assert "`long`" in found[0].message and "16384" in found[0].message
