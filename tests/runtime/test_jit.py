"""`jit`: factories, memo, options, and what the decorator refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from hand_written import SAXPY_CPP, HandWritten
from tile_ir import Automatic, Func, IRError, KernelError
from tile_ir.switches import override
from tile_runtime import JITKernel, PassConfigKey, SimulationError, compile, jit
from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.options.pass_configs import pass_options

pytestmark = pytest.mark.usefixtures("quick_kernels")

A, B = torch.arange(8.0), torch.ones(8)


def test_a_factory_compiles_when_it_is_called(saxpy: Func) -> None:
    @jit(out_idx=[-2])
    def factory(n: int) -> Func:
        """Docs."""
        return saxpy

    kernel = factory(3)
    assert isinstance(kernel, JITKernel)
    assert torch.equal(kernel(A, B, 2.0), 2 * A + B)
    assert factory.__doc__ == "Docs." and factory.__wrapped__(3) is saxpy
    assert factory.__jit_impl__(3) is not kernel
    assert kernel.out_idx == [2] and kernel.workspace_idx == [] and kernel.prim_func is saxpy
    assert kernel.retrace is not None and kernel.retrace() is saxpy
    assert kernel.timings.trace > 0 and kernel.timings.compile > 0


def test_bare_jit_makes_an_in_place_kernel(saxpy: Func) -> None:
    @jit
    def factory() -> Func:
        return saxpy

    c = torch.zeros(8)
    assert factory()(A, B, c, 2.0) == []
    assert torch.equal(c, 2 * A + B)


def test_several_outputs_are_a_list(saxpy: Func) -> None:
    with override(check="off"):  # it reads one of the two, which nobody has written
        result = compile(saxpy, out_idx=[2, 0])(B, 0.0)
    assert isinstance(result, list) and [tuple(t.shape) for t in result] == [(8,), (8,)]
    assert torch.equal(result[0], B) or torch.isnan(result[0]).any()


def test_kernels_are_remembered_by_arguments(saxpy: Func) -> None:
    calls: list[Any] = []

    @jit
    def factory(*args: Any, **kwargs: Any) -> Func:
        calls.append((args, kwargs))
        return saxpy

    assert factory(1, a=1, b=2) is factory(1, b=2, a=1)
    assert len(calls) == 1
    # Equal is not the same: a kernel for 1.0 is not one for 1.
    for other in (True, 1.0, 2):
        assert factory(other, a=1, b=2) is not factory(1, a=1, b=2)
    assert factory(1, a=1.0, b=2) is not factory(1, a=1, b=2)
    with override(soc="Ascend910_9391"):
        assert factory(1, a=1, b=2).target.name == "Ascend910_9391"
    assert factory(1, a=1, b=2).target.name == "Ascend910B2"


def test_expressions_are_arguments_of_factories(saxpy: Func) -> None:
    """`==` of them is an expression, which is neither true nor false."""
    calls: list[Any] = []

    @jit(out_idx=2)
    def factory(value: Any, several: Any = ()) -> Func:
        calls.append(value)
        return saxpy

    n = T.symbolic("n")
    values = [T.int32(3), T.Cast("int32", 3), T.Cast("int32", 4), T.float16(3), n, n + 1, 3]
    kernels = [factory(value) for value in values]
    assert [factory(value) for value in values] == kernels
    assert kernels[0] is kernels[1] and len(calls) == len(values) - 1
    assert factory(1, (n, 2)) is factory(1, (T.symbolic("n"), 2))
    assert factory(1, (n, 2)) is not factory(1, (n, 2.0))


def test_arguments_must_be_hashable(saxpy: Func) -> None:
    @jit
    def factory(*args: Any, **kwargs: Any) -> Func:
        return saxpy

    with pytest.raises(KernelError) as error:
        factory(1, [2])
    assert error.value.message == "argument 2 of `factory` is a list, which can not be hashed"
    with pytest.raises(KernelError, match="argument sizes of `factory` is a dict"):
        factory(1, sizes={})


def test_a_prim_func_is_not_a_factory() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1) as (cid, vid):
            T.barrier_all()

    with pytest.raises(KernelError) as error:
        jit(kernel)
    assert error.value.slug == "jit-prim-func"
    assert "`kernel` is a prim_func; jit decorates the function that returns it" in str(error.value)
    with pytest.raises(KernelError, match="jit decorates a function, found int"):
        jit(3)  # type: ignore[call-overload]


def test_a_factory_must_return_a_prim_func() -> None:
    @jit
    def factory() -> None:
        return None

    with pytest.raises(KernelError, match="expected a prim_func, found NoneType") as error:
        factory()
    # The author sees the call and the decorator, none of the compiler.
    frames = []
    trace = error.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert frames == ["test_a_factory_must_return_a_prim_func", "__call__", "made"]


def test_outputs_and_workspaces_are_different_parameters(saxpy: Func) -> None:
    with pytest.raises(KernelError, match="parameter 2 of `saxpy` is in out_idx and in workspace"):
        compile(saxpy, out_idx=2, workspace_idx=[2])


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        ({"target": "webgpu"}, "target"),
        ({"platform": "A9"}, "platform"),
        ({"execution_backend": "cutedsl"}, "execution-backend"),
    ],
)
def test_options_that_are_not_supported(saxpy: Func, options: dict[str, str], slug: str) -> None:
    with pytest.raises(KernelError) as error:
        compile(saxpy, **options)  # type: ignore[arg-type]
    assert error.value.slug == slug


def test_platforms_choose_a_chip_of_their_family(saxpy: Func) -> None:
    assert compile(saxpy, platform="A2").target.name == "Ascend910B2"
    assert compile(saxpy, platform="A3").target.architecture == "A3"
    with override(soc="Ascend910_9372"):
        assert compile(saxpy, platform="A3").target.name == "Ascend910_9372"
    with override(soc="Ascend910B9"), pytest.raises(KernelError, match="did you mean"):
        compile(saxpy)


def test_debug_root_path_and_verbose(
    saxpy: Func, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @jit(debug_root_path=tmp_path / "dump", verbose=True)
    def factory() -> Func:
        return saxpy

    factory()
    names = sorted(p.name for p in (tmp_path / "dump").iterdir())
    assert names == ["saxpy.cpp", "saxpy.lowered.tir", "saxpy.tir"]
    assert capsys.readouterr().err.startswith("saxpy: trace ")


def test_kernels_can_be_watched(saxpy: Func) -> None:
    with watch_kernels() as outer:
        first = compile(saxpy)
        with watch_kernels() as inner:
            second = compile(saxpy)
    compile(saxpy)
    assert outer == [first, second] and inner == [second]


def test_a_kernel_that_is_kept_as_source(
    saxpy: Func, hand_written: Callable[[str], HandWritten]
) -> None:
    with override(keep_cpp=True):
        kernel = compile(saxpy)
    (kept,) = (Path(kernel.libpath).parents[2] / "kept").iterdir()
    assert kept.read_text() == SAXPY_CPP


def test_pass_configs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = pass_options(
            {PassConfigKey.TL_ASCEND_AUTO_SYNC: True, "tir.merge_static_smem": True}
        )
        assert options.skip == ()
        assert options.automatic == (Automatic.SYNC, Automatic.MEMORY)
        off = pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: False})
        assert off == replace(pass_options(None), by_hand=True) and off.automatic == ()
        with override(skip="simplify, remove_dead", stop_after="plan_memory", dump_ir="dumps"):
            options = pass_options({})
        assert options.skip == ("simplify", "remove_dead")
        assert options.stop_after == "plan_memory" and options.dump_dir == Path("dumps")
    with pytest.warns(UserWarning) as caught:
        pass_options({"tl.ascend_auto_sink": True})
    assert Path(caught[0].filename) == Path(__file__)
    assert str(caught[0].message) == (
        "pass config 'tl.ascend_auto_sink' is unknown and ignored; "
        "did you mean 'tl.ascend_auto_sync'?"
    )
    with pytest.raises(KernelError, match="'tl.ascend_auto_sync' is 'yes', expected True or False"):
        pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: "yes"})


def test_options_that_switches_force_on() -> None:
    with override(cv_sync=True):
        assert pass_options({}).automatic == ()
        assert pass_options({}).unless_ordered == (Automatic.CROSS,)
    with override(cv_sync=True, cv_combine=True, memory_planning=True):
        assert pass_options({}).automatic == (Automatic.MEMORY, Automatic.CROSS)
    with override(auto_sync=True):
        asked = pass_options({PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
        assert pass_options({}) == asked


@pytest.mark.parametrize("threads", [1, 2])
def test_what_says_nothing_of_its_order_is_ordered(threads: int) -> None:
    """In developer style, whatever `threads` is: no lane, no flag, no barrier."""

    @T.prim_func
    def k(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=threads) as cid:
            x = T.alloc_shared((256,), "float32")
            T.copy(X, x)
            T.cumsum(x, x, dim=0)
            T.copy(x, Y)

    x = torch.randn(256)
    with override(check="strict"):
        torch.testing.assert_close(compile(k, out_idx=[-1])(x), x.cumsum(0), rtol=1e-4, atol=1e-4)
        if threads == 1:
            off = {PassConfigKey.TL_ASCEND_AUTO_SYNC: False}
            with pytest.raises(SimulationError, match="race"):
                compile(k, out_idx=[-1], pass_configs=off)(x)


def test_errors_of_the_emitter_show_the_users_line(
    saxpy: Func, monkeypatch: pytest.MonkeyPatch
) -> None:
    def emit(self: object, func: Func, target: object) -> str:
        raise IRError("broken", "no template", func.launch.loc)

    monkeypatch.setattr(HandWritten, "emit", emit)
    with pytest.raises(IRError) as error:
        compile(saxpy)
    assert str(error.value) == (
        "saxpy.py:8:5: error[broken]: no template\n    with T.Kernel(1) as (cid, vid):\n    ^"
    )
