"""Every command compiles a kernel as its script does: the same source, and told so by its hash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from example_kernels import EXAMPLES

from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.scripts.module import load_script
from tile_runtime.tools.command_line import main

pytestmark = pytest.mark.usefixtures("quick_kernels")

TESTS = Path(__file__).parents[1]
DEVELOPER = EXAMPLES / "developer"
HASH = re.compile(r"source ([0-9a-f]{16})$", re.M)

EXAMPLE_ARGUMENTS: dict[str, tuple[Path, dict[str, Any]]] = {
    "vector_add": (EXAMPLES / "01_vector_add.py", dict(M=128, N=64, block_M=64)),
    "gemm": (EXAMPLES / "02_gemm.py", dict(M=128, N=256, K=64, block_M=128, block_N=256,
                                           block_K=64)),
    "gemm_intrinsic": (EXAMPLES / "03_gemm_intrinsic.py",
                       dict(M=128, N=256, K=256, block_M=128, block_N=256, block_K=256, tile_K=64,
                            cores=2)),
    "online_softmax": (EXAMPLES / "04_online_softmax.py",
                       dict(M=34, N=130, rows=16, block_N=64, dtype="float16")),
    "flash_attention": (EXAMPLES / "05_flash_attention.py",
                        dict(B=1, H=1, S=128, D=128, block_M=64, block_N=128)),
    "rms_norm": (EXAMPLES / "06_rms_norm.py", dict(M=33, N=101, rows=8, cores=2)),
    "gelu_mul": (EXAMPLES / "07_gelu_mul.py", dict(M=31, N=140, rows=16, block_N=64, cores=2)),
    "rope": (EXAMPLES / "08_rope.py", dict(tokens=23, heads=3, D=64, longest=64, block=8, cores=2)),
    "cross_entropy": (EXAMPLES / "09_cross_entropy.py",
                      dict(M=23, N=503, rows=16, block_N=128, cores=2)),
    "gemm_ragged": (EXAMPLES / "10_gemm_ragged.py",
                    dict(M=51, N=38, K=61, block_M=128, block_N=128, block_K=256, tile_K=64,
                         cores=2)),
    "split_k_gemm": (EXAMPLES / "11_split_k_gemm.py",
                     dict(M=100, N=200, K=500, block_M=128, block_N=128, block_K=256, splits=2)),
    "top_k": (EXAMPLES / "12_top_k.py", dict(queries=9, N=100, K=8, D=64, cores=2)),
    "long_attention": (EXAMPLES / "13_long_attention.py",
                       dict(B=1, H=1, S=128, D=64, block_M=32, block_N=32)),
    "dev_cross_entropy": (DEVELOPER / "cross_entropy.py", dict(M=32, N=64, rows=16)),
    "int8_gemm": (DEVELOPER / "dequantised_gemm.py",
                  dict(M=64, N=64, K=128, block_M=32, block_N=32, block_K=64)),
    "dev_flash_attention": (DEVELOPER / "flash_attention.py",
                            dict(B=1, H=1, S=128, D=64, block_M=32, block_N=32)),
    "dev_gemm": (DEVELOPER / "gemm.py", dict(M=64, N=64, K=96, block_M=32, block_N=64, block_K=32)),
    "gemm_bias_relu": (DEVELOPER / "gemm_epilogue.py",
                       dict(M=50, N=70, K=33, block_M=32, block_N=32, block_K=32)),
    "layer_norm_add": (DEVELOPER / "layer_norm_add.py", dict(M=19, N=64, rows=8)),
    "dev_rms_norm": (DEVELOPER / "rms_norm.py", dict(M=20, N=50, rows=5)),
    "dev_rope": (DEVELOPER / "rope.py", dict(tokens=5, heads=3, D=64)),
    "softmax": (DEVELOPER / "softmax.py", dict(M=20, N=50, rows=7)),
    "paged_attention": (DEVELOPER / "paged_attention.py",
                        dict(B=2, H=4, groups=2, D=64, pages=5, page=32, most=2)),
    "sparse_attention": (DEVELOPER / "sparse_attention.py",
                         dict(tokens=3, H=16, S=50, D=128, R=64, chosen=32, block_N=32)),
    "lightning_indexer": (DEVELOPER / "lightning_indexer.py",
                          dict(tokens=32, H=2, S=256, D=64, chosen=32, block_M=32, block_N=128,
                               block_H=64)),
    "latent_attention": (DEVELOPER / "mla.py",
                         dict(B=1, H=32, S=70, D=512, R=64, block_H=32, block_N=64)),
    "linear_attention": (DEVELOPER / "linear_attention.py", dict(B=1, H=2, S=64, D=64, chunk=32)),
    "grouped_gemm": (DEVELOPER / "grouped_gemm.py",
                     dict(tokens=20, experts=2, N=128, K=128, block_M=128, block_N=128,
                          block_K=64)),
    "w4a8_gemm": (DEVELOPER / "w4a8_gemm.py",
                  dict(M=64, N=64, K=128, block_M=64, block_N=64, block_K=64)),
    "convolution": (DEVELOPER / "convolution.py",
                    dict(B=1, channels=16, height=9, width=9, outputs=64, size=2, stride=1, pad=0,
                         block_M=64, block_N=64)),
    "route": (DEVELOPER / "top_k_routing.py",
              dict(tokens=20, D=128, experts=64, K=6, rows=32, block_K=128)),
}  # fmt: skip

# Kernels of the tests under one factory: without options, with those of `jit`, and compiled in the
# script itself.
OF_TESTS = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import tile_frontend as T
from end_to_end.lane_kernels import FAMILIES

SHARED = {{T.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}}
ORDERED = {{"tl.ascend_auto_sync": True}}

@T.jit(pass_configs=ORDERED)
def ordered(family, threads):
    return FAMILIES[family](5).make(threads)

@T.jit(pass_configs=SHARED, target="pto", platform="A3")
def shared(family, threads):
    return FAMILIES[family](5).make(threads)

@T.jit
def plain(family, threads):
    return FAMILIES[family](5).make(threads)

def compiled(family, threads):
    return T.compile(FAMILIES[family](5).make(threads), pass_configs=ORDERED)
"""
FACTORIES = ("ordered", "shared", "plain", "compiled")
TEST_KERNELS = [(FACTORIES[n % 4], dict(family=n, threads=1 + n % 2)) for n in range(24)]


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C++ compiler is not asked: sources are what is compared."""
    from tile_runtime.devices.simulator_device import SimulatorDevice

    monkeypatch.setattr(SimulatorDevice, "compile", lambda self, *rest: None)
    monkeypatch.setattr(SimulatorDevice, "load", lambda self, *rest: lambda call, stream: None)


def hashes(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """The one hash a command tells, which must succeed or, for `check`, may find something."""
    capsys.readouterr()
    code = main(command)
    said = capsys.readouterr()
    assert code == 0 or command[0] == "check", said.err
    (found,) = set(HASH.findall(said.err + said.out))
    return found


def options_of(arguments: dict[str, Any]) -> list[str]:
    return [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]


def assert_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    script: Path, name: str, arguments: dict[str, Any],
) -> None:  # fmt: skip
    with watch_kernels() as compiled:
        getattr(load_script(script), name)(**arguments)
    ran = compiled[-1].source_hash
    kernel, options = f"{script}:{name}", options_of(arguments)
    for command in (("check", kernel), ("emit", kernel, "-o", str(tmp_path / "k.cpp")),
                    ("opt", kernel, "-p", "all")):  # fmt: skip
        assert hashes(capsys, *command, *options) == ran, command
    # What sim, report and bench make before they run it.
    from argparse import Namespace

    from tile_runtime.tools.command_line.kernel_run import made_kernel

    words = [f"{n}={v}" for n, v in arguments.items()]
    assert made_kernel(kernel, Namespace(arg=words)).source_hash == ran
    assert HASH.findall(capsys.readouterr().err) == [ran]
    # The IR as `opt` prints it says what is left to the compiler; the chip it does not say.
    assert main(["opt", kernel, *options]) == 0
    text = tmp_path / "k.tir"
    text.write_text(capsys.readouterr().out)
    if name != "shared":
        assert hashes(capsys, "emit", str(text)) == ran


@pytest.mark.parametrize("name", EXAMPLE_ARGUMENTS)
def test_examples(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, nothing_compiled: None,
) -> None:  # fmt: skip
    script, arguments = EXAMPLE_ARGUMENTS[name]
    factory = name.removeprefix("dev_")
    assert_same(capsys, monkeypatch, tmp_path, script, factory, arguments)


def test_every_example_is_there() -> None:
    scripts = {*EXAMPLES.glob("[0-9]*.py"), *DEVELOPER.glob("*.py")}
    assert scripts == {script for script, _ in EXAMPLE_ARGUMENTS.values()}


@pytest.mark.parametrize(("name", "arguments"), TEST_KERNELS, ids=str)
def test_kernels_of_the_tests(
    name: str, arguments: dict[str, Any], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nothing_compiled: None,
) -> None:  # fmt: skip
    script = tmp_path / "of_tests.py"
    script.write_text(OF_TESTS)
    assert_same(capsys, monkeypatch, tmp_path, script, name, arguments)


ADD = """
import tile_frontend as T

@T.jit(out_idx=[-1], pass_configs={"tl.ascend_auto_sync": True})
def add(block=64):
    @T.prim_func
    def main(X: T.Tensor((N := T.symbolic("N"),), "float32"), s: T.float32,
             Z: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 2 * block), is_npu=True) as (cid, vid):
            a = T.alloc_ub((block,), "float32")
            at = (cid * 2 + vid) * block
            T.copy(X[at], a)
            T.tile.mul(a, a, s)
            T.copy(a, Z[at])
    return main

func = add.__wrapped__(32)
kernel = T.compile(func, out_idx=[-1], pass_configs={"tl.ascend_auto_sync": True})
"""


@pytest.fixture
def add(tmp_path: Path) -> str:
    script = tmp_path / "add.py"
    script.write_text(ADD)
    return str(script)


@pytest.mark.parametrize("name", ["add", "kernel", "func"])
def test_commands_that_run_a_kernel(
    name: str, add: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kernel = f"{add}:{name}"
    source = hashes(capsys, "emit", kernel, "-o", str(tmp_path / "k.cpp"))
    inputs = ["--scalar", "N=200", "--scalar", "s=2"]
    page = str(tmp_path / "page.html")
    commands: Sequence[Sequence[str]] = (
        ("sim", kernel, *inputs),
        ("report", kernel, "-o", page, "--tries", "0", *inputs),
        ("bench", kernel, *inputs),
        ("check", kernel),
    )
    for command in commands:
        assert hashes(capsys, *command) == source, command


def test_what_sim_tells_of_a_kernel_of_a_script(
    add: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "z.npy"
    command = ["sim", f"{add}:add", "-a", "block=32", "--in", "X=f32[40]:arange", "--timeout", "9"]
    assert main([*command, "--scalar", "s=3", "--out", "X", "--save", f"Z={saved}"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("X  f32[40]  min 0  max 39") and "\nZ  f32[40]" in said.out
    assert said.err.startswith("add[block=32] for Ascend910B2 with tl.ascend_auto_sync; source ")
    import numpy as np

    assert (np.load(saved) == 3 * np.arange(40)).all()
    for more, text in (
        (["--scalar", "t=3"], "`main` takes no 't' from its caller"),
        ([], "`main` needs a value of s"),
        (["--scalar", "s=3", "--save", "Y=y.npy"], "--save Y: no such --in or --out"),
        (["--scalar", "s=3", "--blocks", "4"], "--blocks is for sources in Ascend C"),
    ):
        assert main([*command, *more]) in (1, 2)
        assert text in capsys.readouterr().err


def test_what_bench_tells_of_a_kernel(add: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", f"{add}:add", "--scalar", "N=100000", "--scalar", "s=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = ["add,", "modelled", "host", "memory", "compute", "roofline"]
    assert [line.split()[0] for line in lines] == heads
    share = float(lines[-1].split()[1])
    assert 0 < share <= 100 and "HBM alone would need" in lines[-1]
    # A product for every element, in the modelled time.
    modelled = float(lines[1].split()[1])
    assert float(lines[4].split()[1]) == pytest.approx(1e5 / modelled / 1e3, rel=0.02)
    assert float(lines[3].split()[1]) == pytest.approx(8e5 / modelled / 1e3, rel=0.02)
    assert main(["bench", f"{add}:add", "import_frontend"]) == 1
    assert "'import_frontend' is no kernel" in capsys.readouterr().err


def test_switches_have_their_part(
    add: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A kernel that is in order by TILE_AUTO_SYNC=1 alone."""
    script = tmp_path / "bare.py"
    script.write_text(ADD.replace(', pass_configs={"tl.ascend_auto_sync": True}', ""))
    assert main(["check", f"{script}:add"]) == 1
    said = capsys.readouterr()
    assert "sync-missing" in said.out
    assert said.err.startswith("add for Ascend910B2 with no pass config; source ")
    monkeypatch.setenv("TILE_AUTO_SYNC", "1")
    assert main(["check", f"{script}:add"]) == 0
    said = capsys.readouterr()
    assert said.out == "main: in order\n"
    assert "with tl.ascend_auto_sync (TILE_AUTO_SYNC=1); source " in said.err


def test_a_kernel_takes_no_arguments(add: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", f"{add}:kernel", "-a", "block=3"]) == 1
    assert "is no factory and takes no arguments, found block=..." in capsys.readouterr().err


def test_nothing_is_in_order_that_was_not_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "add.py"
    script.write_text(ADD.partition("\nfunc =")[0])
    monkeypatch.setenv("TILE_STOP_AFTER", "simplify")
    for command in ("check", "emit"):
        assert main([command, f"{script}:add"]) == 1
        said = capsys.readouterr()
        assert "error[unfinished-pipeline]" in said.err and "in order" not in said.out
        assert "with tl.ascend_auto_sync (TILE_STOP_AFTER=simplify)\n" in said.err
