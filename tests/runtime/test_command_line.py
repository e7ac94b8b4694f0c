"""`tile-ascend`: every command, and errors without tracebacks."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from bench.measurements import ON_REQUEST, ROWS

import tile_codegen_ascendc
from hand_written import SAXPY
from tile_ir import OPS, parse, print_func
from tile_ir.switches import SWITCHES, override, switch
from tile_passes import PIPELINE
from tile_runtime import __version__
from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.ops import language_name, placements

EAGER = """
import tile_frontend as T


@T.jit
def doubled(X, tile: int = 16):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, tile), threads=128) as bx:
        x = T.alloc_shared((tile,), "float32")
        T.copy(X[bx * tile], x)
        for i in T.Parallel(tile):
            x[i] = x[i] * 2.0
        T.copy(x, Y[bx * tile])
    return Y
"""
SCRIPT = """
import tile_frontend as T


@T.prim_func
def plain(A: T.Tensor((16,), "float32")):
    with T.Kernel(1) as (cid, vid):
        T.barrier_all()


@T.jit
def factory(n=16):
    @T.prim_func
    def made(A: T.Tensor((n,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.barrier_all()

    return made


def needs(n):
    return plain


def nothing():
    return 3


number = 4
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command prints; standard error if it fails."""
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.err if code else captured.out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for argument in ("--version", "--help"):
        with pytest.raises(SystemExit) as stop:
            main([argument])
        assert stop.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"tile-ascend {__version__}\n")
    for command in (
        "port",
        "doctor",
        "emit",
        "opt",
        "passes",
        "ops",
        "switches",
        "cache",
        "bench",
        "report",
    ):
        assert f"    {command} " in text


def test_opt_prints_what_it_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.tir"
    path.write_text(SAXPY)
    text = run(capsys, "opt", str(path))
    assert text == print_func(parse(SAXPY))
    monkeypatch.setattr("sys.stdin", io.StringIO(SAXPY))
    assert run(capsys, "opt", "-", "-p", "simplify,remove_dead") == text
    assert "phase typed" in run(capsys, "opt", str(path), "-p", "infer_memory")


CHECKED = """file 0 "k.py"
func "k" phase {phase} @0:1:1 {{
  tensor $A: float32 [64] @0:1:1
  launch blocks(2) %cid %vid threads 1 @0:1:1 {{
    alloc $x: ub float32 [64] address 0 @0:2:5
    alloc $y: ub float32 [64] address {address} @0:3:5
    section vector @0:4:5 {{
      copy_gm_ub($A, $x) {{pad_value=0.0}} @0:5:7
      {order} @0:6:7
      exp($y, $x) @0:7:7
      barrier_all() @0:8:7
      add($y, $y, $x) @0:9:7
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({}, ""),
        ({"address": 8}, "error[address-alignment]"),
        ({"address": 128}, "k.py:7:7: error[memory-overlap]"),
        ({"order": 'pipe_barrier() {pipe="v"}'}, "k.py:7:7: error[sync-missing]"),
        ({"order": 'pipe_barrier() {pipe="v"}', "phase": "planned"}, ""),
    ],
    ids=str,
)
def test_check_prints_what_it_finds(
    change: dict[str, object],
    finding: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "k.tir"
    path.write_text(
        CHECKED.format(**{"phase": "synced", "address": 256, "order": "barrier_all()", **change})
    )
    assert main(["check", str(path)]) == bool(finding)
    printed = capsys.readouterr().out
    assert finding in printed if finding else printed == "k: in order\n"


def test_check_compiles_a_kernel(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", f"{script}:plain") == "plain: in order\n"


SHIFT = """
import tile_frontend as T
@T.prim_func
def shift(y: T.SymmTensor((64,), "float32"), words: T.Signals(1)):
    with T.Kernel(1, threads=1) as cid:
        with T.Scale("device") as (r, num):
            a = T.alloc_ub((64,), "float32")
            T.tile.fill(a, 1.0)
            T.barrier_all()
            T.put(a, y, (r + 1) % num)
            T.quiet()
            T.signal(words[0], 1, (r + 1) % num)
            T.wait_ge(words[0], 1)
"""


@pytest.mark.parametrize(
    ("left_out", "more", "expected"),
    [
        ("", (), "shift: in order, with 2, 3, 4, 5, 8 ranks\n"),
        ("", ("--ranks", "3"), "shift: in order, with 3 ranks\n"),
        ("T.quiet()", ("--ranks", "2"), "error[unquiet-signal]: rank 0"),
    ],
)
def test_check_proves_ranks(
    left_out: str,
    more: tuple[str, ...],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "shift.py"
    path.write_text(SHIFT.replace(left_out, "pass") if left_out else SHIFT)
    code = main(["check", f"{path}:shift", *more])
    printed = capsys.readouterr().out
    assert expected in printed and code == bool(left_out)
    assert left_out or printed == expected


ADDED = """
import tile_frontend as T
@T.prim_func
def added(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(X, a)
            T.tile.add(a, a, 1.0)
"""


def test_opt_explains_and_draws_the_order_of_pipes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script, picture = tmp_path / "added.py", tmp_path / "order.svg"
    script.write_text(ADDED)
    text = run(capsys, "opt", f"{script}:added", "--explain", "--graph", str(picture))
    assert "flag mte2 -> v, event 0\n" in text
    assert "RAW, WAW of a (ub bytes 0 to 255): add (line 9) reads what copy_gm_ub" in text
    assert picture.read_text().startswith("<svg ")


def test_opt_explains_the_passes_it_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "added.py"
    script.write_text(ADDED.replace("T.alloc_ub(", "T.alloc_shared("))
    memory = run(capsys, "opt", f"{script}:added", "-p", "infer_memory", "--explain")
    assert memory.endswith("\n\na (line 6)  ub  dst of add (line 9)\n")
    both = run(capsys, "opt", f"{script}:added", "-p", "infer_memory,insert_sync", "--explain")
    assert both.startswith(memory) and "flag mte2 -> v, event 0\n" in both


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("-p", "infer_memry"), "did you mean `infer_memory`?"),
        (("--target", "Ascend910B7"), "no chip or code generator is called 'Ascend910B7'"),
        (("-p", "plan_memory"), "error[pass-phase]"),
    ],
)
def test_opt_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    path = tmp_path / "k.tir"
    path.write_text(SAXPY)
    assert text in run(capsys, "opt", str(path), *arguments, code=1)


def test_a_file_that_is_not_there_or_not_ir(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "No such file" in run(capsys, "opt", "nowhere.tir", code=1)
    path = tmp_path / "k.tir"
    path.write_text("func {\n")
    assert f"{path}:1:6: error[ir-syntax]" in run(capsys, "opt", str(path), code=1)


def test_emit_of_textual_ir_and_scripts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, script: str
) -> None:
    path = tmp_path / "k.tir"
    path.write_text(SAXPY)
    assert "saxpy_kernel" in run(capsys, "emit", str(path))
    assert "plain_kernel" in run(capsys, "emit", f"{script}:plain")
    target = tmp_path / "out.cpp"
    assert run(capsys, "emit", f"{script}:factory", "-o", str(target)) == ""
    assert "made_kernel" in target.read_text()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (":plane", "did you mean `plain`?"),
        (":needs", "needs arguments: n"),
        (":nothing", "returned a int, expected a prim_func"),
        (":number", "is a int"),
        ("", "name its kernel: "),
    ],
)
def test_emit_errors(capsys: pytest.CaptureFixture[str], script: str, name: str, text: str) -> None:
    assert text in run(capsys, "emit", script + name, code=1)


def test_ops(capsys: pytest.CaptureFixture[str]) -> None:
    table = run(capsys, "ops").splitlines()
    assert len(table) == len(OPS) + 1
    page = run(capsys, "ops", "T.tile.add")
    assert "operand src1: read, in ub or a scalar" in page and "vector (v)" in page
    assert "did you mean `gemm_v0`?" in run(capsys, "ops", "gemm_v", code=1)
    assert "hint: write T.gemm_v0(A, B, C, init=True)" in run(capsys, "ops", "matmul", code=1)


def test_ops_names_what_a_call_takes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "ops", "reduce_sum").splitlines()
    assert (
        lines[0]
        == "T.reduce_sum(buffer, out, dim, clear, real_shape, keepdim, batch, nan_propagate, annotations)"
    )
    operands = [line.split()[1] for line in lines if line.startswith("  operand ")]
    assert operands == ["buffer:", "out:", "scratch:"]
    assert run(capsys, "ops", "axpy").startswith("T.tile.axpy(dst, src, scalar)")


@pytest.mark.parametrize("name", OPS)
def test_every_op_has_a_page(capsys: pytest.CaptureFixture[str], name: str) -> None:
    page = run(capsys, "ops", name)
    assert page.startswith(language_name(OPS[name])) and OPS[name].doc in page
    assert placements(OPS[name])


def test_passes_and_switches(capsys: pytest.CaptureFixture[str]) -> None:
    names = [line.split()[0] for line in run(capsys, "passes").splitlines()]
    assert names == [p.name for p in PIPELINE]
    with override(seed=7):
        lines = run(capsys, "switches").splitlines()
    assert len(lines) == len(SWITCHES)
    assert any(line.startswith("* TILE_SEED") and " 7 " in line for line in lines)


def test_a_switch_with_a_wrong_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_THREADS", "many")
    text = run(capsys, "switches", code=1)
    assert text == "error: TILE_THREADS='many': expected a number\n"


def test_cache(capsys: pytest.CaptureFixture[str]) -> None:
    folder = switch("cache_dir")
    assert run(capsys, "cache", "path") == f"{folder}\n"
    assert run(capsys, "cache") == f"{folder}: 0 kernels, 0.0 MB\n"
    assert run(capsys, "cache", "clear") == f"{folder}: removed 0 kernels, 0.0 MB\n"


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(capsys, "doctor")
    for name in (
        "Python",
        "C++ compiler",
        "torch",
        "simulator",
        "launcher",
        "runner",
        "cache",
        "NPU",
    ):
        assert f" {name} " in text
    assert text.endswith("kernels run here on the simulator\n")
    with override(cxx="/no/such/c++"):
        assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "BROKEN  C++ compiler" in text and "fix: install one: `apt-get install g++`" in text
    assert text.endswith("kernels can not run here\n")


def test_doctor_starts_the_runner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "runner"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    for program, problem in ((broken, "exit code 127"), (tmp_path, "Permission denied")):
        monkeypatch.setattr(
            "tile_runtime.launcher.native.runner_program", lambda may_build=True, p=program: p
        )
        assert main(["doctor"]) == 1
        text = capsys.readouterr().out
        assert "BROKEN  runner" in text and f"{program} does not start: " in text
        assert problem in text and "fix: remove the file; it is built anew" in text


def test_bench_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "deep" / "bench.md"
    # Whether the row is held is the machine's business here.
    assert main(("bench", "import_frontend", "-o", str(output), "--examples", str(tmp_path))) in (
        0,
        1,
    )
    text = capsys.readouterr().out
    assert "| import tile_frontend, fresh process |" in text and output.read_text() == text
    assert "no row is called 'x'" in run(capsys, "bench", "x", code=1)
    assert all(row.__doc__ for row in (ROWS | ON_REQUEST).values())


def test_developer_tools_need_a_checkout(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tile_runtime.tools.command_line.checkout.CHECKOUT", tmp_path)
    text = run(capsys, "bench", "import_frontend", code=1)
    assert "error[no-checkout]: measuring the compiler needs a checkout of the sources" in text
    assert "hint: name a kernel: `tile-ascend bench script.py:factory`" in text
    text = run(capsys, "selftest", code=1)
    assert "the self-test needs a checkout" in text and "hint: name one: --sources FOLDER" in text


def test_emitter_has_its_headers() -> None:
    assert (Path(tile_codegen_ascendc.DEVICE_HEADER_DIR) / "tile_device.h").is_file()


def test_emit_gives_a_factory_its_arguments(
    capsys: pytest.CaptureFixture[str], script: str
) -> None:
    assert "made_kernel(GM_ADDR A_handle" in run(capsys, "emit", f"{script}:factory", "-a", "n=32")
    assert "tensor $A: float32 [32]" in run(capsys, "opt", f"{script}:factory", "-a", "n=32")


def test_a_function_that_is_a_kernel_takes_its_sizes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "eager.py"
    path.write_text(EAGER)
    sizes = ("-a", "N=64", "-a", "tile=32")
    text = run(capsys, "opt", f"{path}:doubled", *sizes, "-p", "simplify")
    assert "tensor $X: float32 [64]" in text and "launch blocks(2)" in text
    assert "blocks become one" in run(
        capsys, "opt", f"{path}:doubled", *sizes, "-p", "infer_memory,retile_blocks", "--explain"
    ) + run(capsys, "opt", f"{path}:doubled", "-a", "N=65536", "-a", "tile=8", "-p",
            "infer_memory,retile_blocks", "--explain")  # fmt: skip
    assert main(["opt", f"{path}:doubled", "-p", "simplify"]) == 1
    assert "the constant `N` has no value" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["m=1"], "has no argument 'm'"),
        (["n"], "'n' is not of the form name=value"),
        (["n=1", "dtype=float16"], "has no argument 'dtype'"),
    ],
)
def test_wrong_arguments_of_a_factory(
    capsys: pytest.CaptureFixture[str], script: str, given: list[str], message: str
) -> None:
    arguments = [word for value in given for word in ("-a", value)]
    assert message in run(capsys, "emit", f"{script}:factory", *arguments, code=1)
