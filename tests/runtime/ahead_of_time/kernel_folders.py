"""Folders of kernels for the tests, as an engine would have them."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from forked_python import run_python

from tile_runtime.tools.command_line import main

SCALE = """
import tile_frontend as T
from tile_runtime.ahead_of_time import DispatchField, TilelangKernel, lower, register_kernel
from .sizes import ROWS

WIDTHS = (64, 128)


def build(width):
    n = T.symbolic("n")

    @T.prim_func
    def scale(x: T.Tensor((n, width), "float32"), y: T.Tensor((n, width), "float32"),
              factor: T.float32):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            with T.Scope("V"):
                u = T.alloc_ub((ROWS, width), "float32")
                for i in T.serial(T.ceildiv(n, 4 * ROWS)):
                    row = (i * 4 + cid * 2 + vid) * ROWS
                    T.copy(x[row, 0], u)
                    T.tile.mul(u, u, factor)
                    T.copy(u, y[row, 0])

    return scale


@register_kernel
class Scale(TilelangKernel):
    DISPATCH_SCHEMA = [DispatchField("width", "int32"), DispatchField("dtype", "dtype")]
    SPECIALIZATIONS = [
        {"variant_key": f"w{width}", "width": width, "dtype": "fp32"} for width in WIDTHS
    ]

    @staticmethod
    def generate_source(width, dtype):
        config = {"tl.ascend_auto_sync": True}
        return lower(build(width), pass_configs=config).kernel_source
"""
# The same as an engine writes it. Its names bring torch into every process.
ENGINES_SCALE = (
    SCALE.replace(
        "import tile_frontend as T\nfrom tile_runtime.ahead_of_time import",
        "import tilelang\nimport tilelang.language as T\nfrom ....common.spec import",
    )
    .replace("lower, register", "register")
    .replace(
        "        return lower(build(width), pass_configs=config)",
        "        with tilelang.tvm.transform.PassContext(opt_level=3, config=config):\n"
        "            return tilelang.engine.lower(build(width))",
    )
)
# A source of its own making: quick to emit, and nothing compiles it.
PLAIN = '''
from tile_runtime.ahead_of_time import DispatchField, TileKernel, register_kernel

SOURCE = """// the call of one kernel
extern "C" __global__ __aicore__ void add_kernel(GM_ADDR x, uint64_t fftsAddr) {}
void add_kernel_tiling() {}
extern "C" void call(uint8_t* x_handle, int n, aclrtStream stream) { add_kernel<<<1>>>(x_handle); }
"""


@register_kernel
class Add(TileKernel):
    KERNEL_NAME = "add"
    DISPATCH_SCHEMA = [DispatchField("n", "int32")]
    SPECIALIZATIONS = [{"variant_key": f"n{n}", "n": n} for n in (1, 2)]

    @staticmethod
    def generate_source(n):
        return SOURCE
'''


def write(folder: Path, **files: str) -> Path:
    """A folder `kernels` with these files."""
    kernels = folder / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (kernels / f"{name}.py").write_text(text)
    return kernels


@dataclass(frozen=True, slots=True)
class Done:
    """What the command said, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def compile_kernels(folder: Path, *more: str, target: str = "none") -> Done:
    """Run the command in a folder with `kernels`: in this process, unless that would stay another
    one for what the files import. Starting workers is most of its time, so there is one."""
    arguments = [
        "compile-kernels",
        "--target",
        target,
        "--output-root",
        "out",
        "--jobs",
        "1",
        *more,
    ]
    if any("import tilelang" in file.read_text() for file in folder.rglob("*.py")):
        program = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
        done = run_python(["-c", program, *arguments], folder)
        return Done(done.returncode, done.stdout, done.stderr)
    out, err = io.StringIO(), io.StringIO()
    here = os.getcwd()
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments)
    except SystemExit as stop:  # argparse
        code = int(stop.code or 0)
    finally:
        os.chdir(here)
    return Done(code, out.getvalue(), err.getvalue())


def compiled(done: Done) -> int:
    """How many variants a run has compiled."""
    assert done.returncode == 0, done.stderr
    counts = [line.rpartition("(")[2] for line in done.stdout.splitlines() if "compiled)" in line]
    return sum(int(count.split()[0]) for count in counts)
