"""Scripts that want the source of a kernel: `lower` at module level, pass configs around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked_python import run_python

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, KernelError
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile, jit
from tile_runtime.devices.choose_device import current_device
from tile_runtime.devices.npu_device import NpuDevice
from tile_runtime.jit_kernels.kernel_artifact import lower
from tile_runtime.options.pass_context import PassContext

pytestmark = pytest.mark.usefixtures("quick_kernels")

SYNC = {"tl.ascend_auto_sync": True}


@T.prim_func
def add_one(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1) as cid:
        a = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(X, a)
            T.tile.add(a, a, 1.0)
            T.copy(a, Y)


def flags(source: str) -> int:
    return source.count("SetFlag<")


def test_configs_of_the_context_hold_inside_it() -> None:
    assert flags(lower(add_one).kernel_source) == 0
    with PassContext(opt_level=3, config=SYNC) as context:
        assert PassContext.current() is context
        ordered = lower(add_one).kernel_source
        with PassContext(config={PassConfigKey.TL_ASCEND_AUTO_SYNC: False}):
            assert flags(lower(add_one).kernel_source) == 0
        assert lower(add_one, target="ascendc", platform="A3").kernel_source == ordered
    assert flags(ordered) > 0 and PassContext.current().config == {}
    assert lower(add_one, pass_configs=SYNC).kernel_source == ordered


def test_the_call_comes_before_the_context() -> None:
    with PassContext(config=SYNC):
        given = lower(add_one, pass_configs={"tl.ascend_auto_sync": False})
    assert flags(given.kernel_source) == 0


def test_a_context_can_be_entered_again_and_is_left_by_an_error() -> None:
    context = PassContext(config=SYNC)
    with context, context:
        pass
    with pytest.raises(ZeroDivisionError), context:
        raise ZeroDivisionError
    assert PassContext.current().config == {}


def test_a_config_that_is_no_dict() -> None:
    with pytest.raises(KernelError) as caught:
        PassContext(config=["tl.ascend_auto_sync"])  # type: ignore[arg-type]
    assert caught.value.slug == "pass-config"


def test_jit_without_parentheses_of_a_factory_without_arguments() -> None:
    @jit
    def bare():
        return add_one

    @jit(out_idx=-1, pass_configs=SYNC)
    def called():
        return add_one

    import torch

    x = torch.zeros(64)
    y = torch.zeros(64)
    with override(auto_sync=True):
        bare()(x, y)
    assert called()(x).tolist() == y.tolist() == [1.0] * 64


def test_flags_of_the_device_compiler_follow_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    program = tmp_path / "bin" / "bisheng"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {log}\n')
    program.chmod(0o755)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    device = NpuDevice(("-O3", "--cce-auto-sync=off"))
    device.compile((tmp_path / "k.cpp",), tmp_path / "k.so", tmp_path, DEFAULT_TARGET)
    words = log.read_text().split()
    assert words.index("-O3") > words.index("-O2") and "--cce-auto-sync=off" in words
    assert device.identity() != NpuDevice().identity()


@pytest.mark.parametrize("given", ["-O3 -DNAME='a b'", ["-O3", "-DNAME=a b"], None])
def test_the_simulator_has_no_use_for_flags(given: object) -> None:
    plain = compile(add_one, out_idx=[-1], pass_configs=SYNC)
    kernel = compile(add_one, out_idx=[-1], pass_configs=SYNC, compile_flags=given)  # type: ignore
    assert kernel.get_kernel_source() == plain.get_kernel_source()
    assert current_device().name == "simulator"


@pytest.mark.parametrize("mode", ["sim", "npu", "auto", None])
def test_run_modes(mode: str | None) -> None:
    assert compile(add_one, run_mode=mode, pass_configs=SYNC)


@pytest.mark.parametrize(
    ("options", "slug"),
    [({"run_mode": "gpu"}, "run-mode"), ({"compile_flags": [3]}, "compile-flags")],
)
def test_values_that_mean_nothing(options: dict[str, object], slug: str) -> None:
    with pytest.raises(KernelError) as caught:
        compile(add_one, **options)  # type: ignore[arg-type]
    assert caught.value.slug == slug and caught.value.loc is not None


SCRIPT = """\
import tilelang
import tilelang.language as T
import torch

torch.set_default_device("npu")


@tilelang.jit
def add_one():
    @T.prim_func
    def main(A: T.Tensor((64,), "float"), B: T.Tensor((64,), "float")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            a_ub = T.alloc_ub((64,), "float")
            with T.Scope("V"):
                T.copy(A, a_ub)
                T.barrier_all()
                T.copy(a_ub, B)

    return main


source = tilelang.engine.lower(add_one.__wrapped__())
with tilelang.tvm.transform.PassContext(opt_level=3, config={"tl.ascend_auto_sync": True}):
    assert tilelang.lower(add_one.__wrapped__(), target="ascendc").kernel_source
"""


def test_commands_read_scripts_of_tilelang(tmp_path: Path) -> None:
    """A factory without arguments, in a script that lowers while it is read."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    program = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
    done = run_python(["-c", program, "emit", f"{script}:add_one"])
    assert done.returncode == 0, done.stderr
    assert "void main_kernel(" in done.stdout
