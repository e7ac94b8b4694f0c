"""`@autotune`, the profiler, and hints for tile sizes."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, TARGETS, Func, KernelError, Memory
from tile_ir.diagnostics.errors import Stopped
from tile_ir.switches import override
from tile_runtime import JITKernel, jit
from tile_runtime.jit_kernels.profiler import Profiler, do_bench, modelled_microseconds
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType, supply_tensors
from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.tools.command_line import main
from tile_runtime.tuning.autotuner import AutoTuner, autotune, set_autotune_inputs
from tile_runtime.tuning.results import ResultStore
from tile_runtime.tuning.tile_hints import Ascend, MatmulTemplate

pytestmark = pytest.mark.usefixtures("quick_kernels")

N = 1024


def add_one(n: int, block: int, value: float = 1.0) -> Func:
    """B = A + value, a block at a time on one core. Refuses blocks that do not divide."""
    assert n % block == 0, f"{block} does not divide {n}"

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")) -> None:
        with T.Kernel(1) as (cid, vid), T.Scope("V"):
            a_ub = T.alloc_ub((block,), "float32")
            if vid == 0:
                for i in T.serial(n // block):
                    T.copy(A[i * block], a_ub)
                    T.barrier_all()
                    T.tile.add(a_ub, a_ub, value)
                    T.barrier_all()
                    T.copy(a_ub, B[i * block])
                    T.barrier_all()

    return main  # type: ignore[no-any-return]


def tuned(**options: Any) -> Any:
    """A fresh tuner over a fresh factory."""
    options.setdefault("executor", "here")
    options.setdefault("configs", [{"block": 64}, {"block": 512}])
    options.setdefault("ref_prog", lambda a: a + 1)
    return autotune(**options)(jit(out_idx=[-1])(add_one))


def test_the_fastest_right_configuration_wins() -> None:
    factory = tuned(configs=[{"block": 64}, {"block": 512}, {"block": 100}])
    kernel = factory(N)
    assert isinstance(kernel, JITKernel) and kernel.config == {"block": 512}
    a = torch.randn(N)
    assert torch.equal(kernel(a), a + 1)
    result = kernel.get_tuner_result()
    assert result["config"] == {"block": 512} and result["ref_latency"] > 0
    assert result["latency"] == pytest.approx(do_bench(lambda: kernel(a)))
    assert factory(N) is kernel


def test_a_call_with_all_tunables_is_not_tuned() -> None:
    factory = tuned()
    small = factory(N, 64)
    assert small.config is None and small.get_tuner_result()["latency"] is None
    assert factory(N, block=64).prim_func.name == "main"


def test_a_tuned_kernel_is_not_mistaken_for_another() -> None:
    """docs/use/coming_from_tilelang.md#what-differs-on-purpose: the memo of upstream forgets the
    tunables."""
    factory = tuned()
    best = factory(N)
    other = factory(N, 64)
    assert best.get_kernel_source() != other.get_kernel_source()
    assert factory(N) is best and factory(N, block=512) is not other
    assert factory(N, 64) is other and factory(N, 128) is not other


def test_the_next_process_compiles_the_winner_only() -> None:
    tuned()(N)
    with watch_kernels() as built:
        kernel = tuned()(N)
    assert [k.config for k in built] == [{"block": 512}] and kernel.latency > 0
    with watch_kernels() as built, override(cache=False):
        tuned()(N)
    assert len(built) == 3  # the winner once more
    with watch_kernels() as built:
        tuned(configs=[{"block": 512}, {"block": 128}])(N)  # one of them is known
    assert [k.config for k in built] == [None, {"block": 512}]


def test_configurations_of_the_same_kernel_are_tried_once() -> None:
    """What only other machines have, as a number of threads, changes no kernel."""

    def wide(n: int, block: int, threads: int) -> Func:
        assert threads < 512, "too many"
        return add_one(n, block)

    configs = [{"block": b, "threads": t} for b in (64, 512) for t in (128, 256, 512)]
    for most, trials in ((4, 2), (None, 0)):  # the rest is known from the first four
        with watch_kernels() as built:
            kernel = autotune(configs=configs, executor="here", most=most)(jit(wide))(N)
        assert len(built) == trials + 1  # the winner once more
    assert kernel.config == {"block": 512, "threads": 128}
    table = {(r.values["block"], r.values["threads"]): r for r in kernel.tuning.rows}
    assert len(table) == len(configs)
    for block in (64, 512):
        first, second, refused = (table[block, threads] for threads in (128, 256, 512))
        assert first.milliseconds == second.milliseconds and first.state == second.state == "right"
        assert first.seconds > second.seconds == 0 and refused.state == "refused"


def test_wrong_results_lose_whatever_their_time() -> None:
    kernel = tuned(configs=[{"block": 512, "value": 2.0}, {"block": 64, "value": 1.0}])(N)
    assert kernel.config == {"block": 64, "value": 1.0}
    unchecked = tuned(
        configs=[{"block": 512, "value": 2.0}, {"block": 64, "value": 1.0}], skip_check=True
    )
    assert unchecked(N).config == {"block": 512, "value": 2.0}


def test_nothing_usable_is_an_error_with_each_reason() -> None:
    with pytest.raises(KernelError) as error:
        tuned(configs=[{"block": 100}, {"block": 512, "value": 3.0}])(N)
    assert error.value.slug == "autotune-failed"
    assert "100 does not divide 1024" in str(error.value)
    assert "output 0: 100.00% of it differs by up to 2" in str(error.value)
    with pytest.raises(KernelError) as error:
        tuned(configs=[{"block": 1 << 17}, {"block": 1 << 18}])(1 << 20)
    assert error.value.slug == "memory-overflow" and error.value.loc is not None
    with pytest.raises(KernelError, match="no configurations"):
        tuned(configs=[])(N)


def test_configurations_from_a_function() -> None:
    seen: list[Any] = []

    def given(args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> list[dict[str, int]]:
        seen.append((args, kwargs))
        return [{"block": args[0] // 2}]

    assert tuned(configs=given)(N, value=1.0).config == {"block": 512}
    assert seen == [((N,), (("value", 1.0),))]
    assert tuned(configs=lambda: [{"block": 512}])(N).config == {"block": 512}


def test_inputs_may_be_given() -> None:
    seen: list[Any] = []

    def reference(a: torch.Tensor) -> torch.Tensor:
        seen.append(a)
        return a + 1

    with set_autotune_inputs(torch.full((N,), 3.0)):
        tuned(ref_prog=reference, configs=[{"block": 512}])(N)
    assert seen and all((a == 3).all() for a in seen)
    supplied: list[Any] = []

    def supply(params: list[Any]) -> list[torch.Tensor]:
        supplied.append([p.name for p in params])
        return [torch.zeros(N)]

    tuned(supply_prog=supply, configs=[{"block": 512}], rtol=0.1)(N)
    assert supplied == [["A", "B"]]


def test_a_tuner_without_decorators() -> None:
    tuner = AutoTuner.from_kernel(
        lambda block=0: add_one(N, block), [{"block": 64}, {"block": 512}]
    )
    kernel = tuner.set_compile_args(out_idx=[-1]).set_profile_args(ref_prog=lambda a: a + 1).run()
    assert kernel.config == {"block": 512}
    # What the result of tilelang's tuner has.
    a = torch.randn(N)
    assert torch.equal(kernel.kernel(a), a + 1)
    assert kernel.func is kernel.prim_func and kernel.libcode == kernel.get_kernel_source()


def test_an_interrupt_keeps_what_was_measured() -> None:
    @jit(out_idx=[-1])
    def interrupted(n: int, block: int = 0) -> Func:
        if block == 64:
            raise KeyboardInterrupt
        return add_one(n, block)

    configs = [{"block": 512}, {"block": 64}]
    with pytest.raises(KeyboardInterrupt) as stopped:
        autotune(interrupted, configs=configs, executor="here")(N)
    assert type(stopped.value) is Stopped
    assert str(stopped.value) == (
        "tuning was stopped after 1 of 2 configurations: what was measured is kept, and the next "
        "call goes on from there"
    )
    (study,) = ResultStore().studies()
    assert [row.values for row in study.rows] == [{"block": 512}]


def test_a_time_in_other_units() -> None:
    time = do_bench(lambda: None, 1, 1, backend="msprof_detail")
    assert time.dur_us == time * 1e3 and time.dur_ns == time * 1e6
    assert time.tflops(2e9) == pytest.approx(2e-3 / (time / 1e3))


def test_do_bench_gives_modelled_milliseconds() -> None:
    kernel = jit(out_idx=[-1])(add_one)(N, 512)
    a = torch.randn(N)
    runs: list[int] = []

    def twice() -> None:
        runs.append(1)
        kernel(a), kernel(a)

    once = modelled_microseconds(lambda: kernel(a))
    assert once is not None and 0.5 < once < 50
    assert do_bench(twice) == pytest.approx(2 * once / 1e3)
    assert len(runs) == 1  # whatever warmup and rep say
    assert do_bench(twice, quantiles=[0.2, 0.8]) == pytest.approx([2 * once / 1e3] * 2)
    assert 0 < do_bench(lambda: a @ a) < 100
    with pytest.raises(ValueError, match="return_mode"):
        do_bench(twice, return_mode="mode")


def test_the_profiler_of_a_kernel() -> None:
    kernel = jit(out_idx=[-1])(add_one)(N, 512)
    profiler = kernel.get_profiler(TensorSupplyType.Integer)
    assert isinstance(profiler, Profiler)
    profiler.assert_allclose(lambda a: a + 1)
    with pytest.raises(AssertionError, match="output 0"):
        profiler.assert_allclose(lambda a: a + 2)
    assert profiler.do_bench() > 0 and kernel.run_once().shape == (N,)
    (a,) = supply_tensors(kernel, TensorSupplyType.Zero)
    assert not a.any()


def test_files_of_a_kernel_are_where_scripts_look() -> None:
    kernel = jit(out_idx=[-1])(add_one)(N, 512)
    generator = kernel.adapter.lib_generator
    assert generator.libpath == kernel.adapter.libpath == kernel.libpath
    assert Path(generator.srcpath).read_text() == kernel.adapter.get_kernel_source()
    assert generator.load_lib().call


@pytest.mark.parametrize("soc", ["Ascend910B2", "Ascend910B4"])
@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (16, 4096, 512), (300, 80, 48)])
def test_hints_fit_the_memories(soc: str, shape: tuple[int, int, int]) -> None:
    target = TARGETS[soc]
    template = MatmulTemplate(*shape, in_dtype="float16").with_arch(Ascend(target))
    hints = template.recommend_hints(20)
    assert hints == template.recommend_hints(40)[: len(hints)]
    assert len({(*h.block, *h.rstep) for h in hints}) == len(hints) >= 1
    for hint in hints:
        (m, n), (k,) = hint.block, hint.rstep
        assert m % 16 == n % 16 == 0 and k % 16 == 0
        assert m * n * 4 <= target.capacity[Memory.L0C]
        assert 2 * (m + n) * k * 2 <= target.capacity[Memory.L1]


def test_hints_ask_what_operations_cost() -> None:
    """Large products are as slow as the cube: of float32 it takes a quarter of the elements of k a
    step that it takes of float16."""
    times = {}
    for dtype in ("float16", "float32"):
        template = MatmulTemplate(8192, 8192, 8192, in_dtype=dtype)
        times[dtype] = template.with_arch(Ascend(DEFAULT_TARGET)).recommend_hints(1)[0].microseconds
    fractals = 512 * 512 * 512 / DEFAULT_TARGET.cube_cores / DEFAULT_TARGET.clock_mhz
    assert fractals <= times["float16"] < 1.5 * fractals
    assert 4 * fractals <= times["float32"] < 4.5 * fractals


def test_the_first_hint_divides_and_fills_the_cores() -> None:
    first = MatmulTemplate(1024, 1024, 1024).with_arch(Ascend(DEFAULT_TARGET)).recommend_hints()[0]
    assert 1024 % first.block[0] == 1024 % first.block[1] == 1024 % first.rstep[0] == 0
    assert first.block[0] * first.block[1] >= 128 * 128
    for unknown in ("float17", "int4"):
        with pytest.raises(KernelError, match="not an element type"):
            MatmulTemplate(64, 64, 64, in_dtype=unknown).recommend_hints()


def test_results_are_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configs = [{"block": b, "value": v} for b in (64, 512, 100) for v in (1.0, 2.0)]
    kernel = tuned(configs=configs)(N)
    kernel.tuning.to_csv(tmp_path / "times.csv")
    table = list(csv.DictReader((tmp_path / "times.csv").open()))
    assert [(row["block"], row["state"]) for row in table[:3]] == [
        ("512", "right"), ("64", "right"), ("100", "refused"),
    ]  # fmt: skip
    assert float(table[0]["milliseconds"]) == kernel.latency and len(table) == len(configs)
    assert main(["tune", "ls"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "add_one(1024) on Ascend910B2, modelled: 2 right" in line
    assert "block=512, value=1.0" in line
    study, picture = line.split()[0], tmp_path / "times.svg"
    assert main(["tune", "export", study, "--svg", str(picture)]) == 0
    panels = ElementTree.parse(picture).findall(".//{*}polyline")
    assert len(panels) == 2
    assert main(["tune", "export", study]) == 0
    assert capsys.readouterr().out == (tmp_path / "times.csv").read_text()
    assert main(["tune", "export", "nothing"]) == 1


def test_what_is_no_database_is_put_aside() -> None:
    store = ResultStore()
    store.path.write_bytes(b"not a database at all" * 100)
    with pytest.warns(UserWarning, match="tuning-damaged"):
        assert tuned()(N).config == {"block": 512}
    assert len(store.studies()) == 1 and list(store.path.parent.glob("*.damaged"))


def test_optuna_tries_a_part() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed: pip install optuna")
    configs = [{"block": 2**k, "value": v} for k in range(3, 11) for v in (1.0, 2.0)]
    kernel = tuned(configs=configs, sampler="optuna", most=6)(N)
    rows = kernel.tuning.rows
    assert len({row.config for row in rows}) == 6 and kernel.config in configs
    again = tuned(configs=configs, sampler="optuna", most=6)(N)
    assert [r.config for r in again.tuning.rows] == [r.config for r in rows]


def test_a_switch_limits_how_many_are_tried() -> None:
    """For scripts that can not be edited: some from everywhere, the same ones at every run."""
    configs = [{"block": 2**k, "value": v} for k in range(3, 11) for v in (1.0, 2.0)]
    tried = []
    for _ in range(2):
        with override(tune_most=6, cache=False):
            tried.append([row.config for row in tuned(configs=configs)(N).tuning.rows])
    assert tried[0] == tried[1] and len(tried[0]) == 6
    with override(tune_most=6):
        assert len(tuned(configs=configs, most=2)(N).tuning.rows) == 2
        assert len(tuned(configs=configs[:4])(N).tuning.rows) == 4


def test_the_bar_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script in a pipe says nothing; on a terminal it shows the best so far."""
    pipe, terminal = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    tuned(configs=[{"block": 64}, {"block": 512}])(N)
    assert pipe.getvalue() == ""
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    tuned(configs=[{"block": 64}, {"block": 512}])(N)  # both known
    assert "2/2" in terminal.getvalue() and "block=512" in terminal.getvalue()
