"""What is seen of a script, in this process: kernels, their facts, and everything that is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tile_runtime.tools.language_server.hover_text import hover_text
from tile_runtime.tools.language_server.look_at_script import look_at
from tile_runtime.tools.language_server.quick_fixes import fixes_of, sizes_for
from tile_runtime.tools.language_server.seen import SeenFinding, SeenScript, as_json, from_json
from tile_runtime.tools.language_server.syntax import syntax_mistake

FACTORY = """\
import tile_frontend as T


@T.jit(out_idx=[-1])
def double(M, N, rows=4):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(M // rows, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((rows, N), "float32")
            T.copy(A[cid * rows, 0], a)
            for i, j in T.Parallel(rows, N):
                a[i, j] = a[i, j] * 2
            T.copy(a, B[cid * rows, 0])

    return kernel
"""
CALLED = FACTORY + '\n\nif __name__ == "__main__":\n    double(8, 64)\n'
PRODUCT = """\
import tile_frontend as T


@T.prim_func
def product(
    A: T.Tensor((64, 128), "float16"),
    B: T.Tensor((128, 64), "float16"),
    C: T.Tensor((64, 64), "float32"),
):
    with T.Kernel(1, threads=2) as cid:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        total = T.alloc_fragment((64, 64), "float32")
        c = T.alloc_shared((64, 64), "float32")
        for k in T.serial(2):
            T.copy(A[0, k * 64], a)
            T.copy(B[k * 64, 0], b)
            T.gemm_v0(a, b, total, init=(k == 0))
        T.copy(total, c)
        T.tile.relu(c, c)
        T.copy(c, C)
"""


def seen_of(text: str, folder: Path) -> SeenScript:
    seen = look_at(folder / "script.py", text)
    assert from_json(as_json(seen)) == seen
    return seen


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_factory_is_seen_at_the_sizes_of_its_first_call(tmp_path: Path) -> None:
    seen = seen_of(CALLED, tmp_path)
    assert [k.name for k in seen.kernels] == ["double[M=8, N=64]"]
    assert not seen.findings and not seen.unsized
    (kernel,) = seen.kernels
    assert (kernel.first, kernel.last) == (7, 13) and kernel.blocks == "2"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        ("# tile-ascend: double(M=16, N=32)", "M=16, N=32"),
        ("for M, N in ((24, 64), (8, 64)):\n    double(M, N)", "M=24, N=64"),
        ("SIZES = {'M': 8, 'N': 96}\ndouble.compile(**SIZES, rows=2)", "M=8, N=96, rows=2"),
        ("def main():\n    n = 32\n    run(lambda: double(16, n))", "M=16, N=32"),
        ("def main(m):\n    double(m, 64)\n    double(32, 64)", "M=32, N=64"),
    ],
)
def test_sizes_are_those_that_the_text_says(call: str, sizes: str, tmp_path: Path) -> None:
    body = "\n".join(f"    {line}" for line in call.splitlines())
    text = f'{FACTORY}\n\nif __name__ == "__main__":\n{body}\n    pass\n'
    assert [k.name for k in seen_of(text, tmp_path).kernels] == [f"double[{sizes}]"]


def test_a_factory_without_sizes_asks_for_them(tmp_path: Path) -> None:
    seen = seen_of(FACTORY, tmp_path)
    assert not seen.kernels and not seen.findings
    (factory,) = seen.unsized
    assert (factory.name, factory.missing) == ("double", ("M", "N"))
    fix = sizes_for(factory, FACTORY)
    lines = FACTORY.splitlines(keepends=True)
    lines.insert(fix.line - 1, fix.text)
    again = seen_of("".join(lines), tmp_path)
    assert [k.name for k in again.kernels] == ["double[M=1024, N=1024]"]


def test_hovers_tell_memory_lanes_bytes_and_work(tmp_path: Path) -> None:
    seen = seen_of(PRODUCT, tmp_path)
    line = line_of(PRODUCT, "T.copy(total, c)")
    about = hover_text(seen, line, "c") or ""
    assert "memory: ub, 8,192 bytes on each core, from byte 0 on" in about
    assert "split rows of dimension 0: 32 + 32" in about
    assert f"because: dst of relu (line {line + 1})" in about
    loads = hover_text(seen, line_of(PRODUCT, "A[0, k * 64]"), "copy") or ""
    assert "| cube core | MTE2 | 2 |" in loads and "| 16,384 |" in loads
    whole = hover_text(seen, line_of(PRODUCT, "def product"), "product") or ""
    assert "**product** on Ascend910B2, 1 blocks" in whole and "| cube core | M |" in whole
    assert "gm, 16,384 bytes" in (hover_text(seen, line_of(PRODUCT, "B: T.Tensor"), "B") or "")
    assert hover_text(seen, 1, "T") is None


def test_what_the_compiler_refuses_is_a_finding_at_its_place(tmp_path: Path) -> None:
    text = CALLED.replace("T.copy(a, B", "T.copi(a, B")
    (finding,) = seen_of(text, tmp_path).findings
    assert (finding.slug, finding.line) == ("unknown-name", line_of(text, "T.copi"))
    assert finding.file == str(tmp_path / "script.py")
    (fix,) = fixes_of(finding, text)
    words = text.splitlines()[fix.line - 1]
    fixed = words[: fix.column - 1] + fix.text + words[fix.end_column - 1 :]
    assert fixed.strip() == "T.copy(a, B[cid * rows, 0])"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("wrong", "hint", "right"),
    [
        ("x[i] = math.exp(x[i] - 1.0)", "write T.exp(x[i] - 1.0)", "x[i] = T.exp(x[i] - 1.0)"),
        (
            "T.copy(X[:, c * 3], x)",
            "write `X[:, c * 3:c * 3 + 3]`; or not",
            "T.copy(X[:, c * 3:c * 3 + 3], x)",
        ),
        (
            "assert c == 0",
            "write T.device_assert(c == 0, 'c == 0'), which",
            "T.device_assert(c == 0, 'c == 0')",
        ),
        ('with T.Scope("X"):', 'write T.Scope("C") or not', "with T.Scope('C'):"),
        ('x = T.alloc_ub((64,), "fp32")', 'write "float32"', "x = T.alloc_ub((64,), 'float32')"),
        ("y = float(c)", 'write T.cast(x, "float32")', None),
        ("x[0] = int(x[1])", 'write T.cast(x, "int32")', None),
        ("y = max(x, 0.0)", "write T.tile.max(dst, src0, src1)", None),
        ("y = x.max(", "write T.reduce_max(x, y)", None),
        ("A[0] = 0.5", "write an integer, or T.cast(value, ...) to say how it rounds", None),
        ("x[i] = x[i] + cis", "did you mean `cid`?", "x[i] = x[i] + cid"),
        ("T.copy(A, a, relu=True)", "did you mean `enable_relu`?", None),
        (
            'ö = T.alloc_ub((1,), "flot16")',
            "did you mean `float16`?",
            'ö = T.alloc_ub((1,), "float16")',
        ),
    ],
)
def test_hints_that_say_all_of_a_change_are_fixes(wrong: str, hint: str, right: str | None) -> None:
    body = f"    {wrong}\n" + ("        pass\n" if wrong.endswith(":") else "")
    text = f"def kernel():\n{body}"
    start = re.search(r"math|X.:|assert|T.Scope|.fp32|.flot|float.c|int.x|max|cis", wrong)
    column = 5 + (start.start() if start else 0)
    finding = SeenFinding("script.py", 2, column, "error", "slug", "no message", hint)
    fixes = fixes_of(finding, text)
    assert len(fixes) == (right is not None)
    line = text.splitlines()[1]
    fixed = [line[: f.column - 1] + f.text + line[f.end_column - 1 :] for f in fixes]
    assert [f.strip() for f in fixed] == ([right] if right else [])


def test_remarks_of_passes_are_warnings(tmp_path: Path) -> None:
    text = CALLED.replace('"float32"', '"int32"').replace("* 2", "// 500009")
    found = [f for f in seen_of(text, tmp_path).findings if f.slug == "scalar-loop"]
    assert [(f.severity, f.line) for f in found] == [("warning", line_of(text, "// 500009"))]


def test_flags_that_are_missing_are_found_without_a_run(tmp_path: Path) -> None:
    text = """\
import tile_frontend as T


@T.prim_func
def late(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(A, a)
            T.tile.exp(a, a)
            T.copy(a, B)
"""
    lines = {f.line for f in seen_of(text, tmp_path).findings if f.severity == "error"}
    assert line_of(text, "T.tile.exp") in lines


def test_exceptions_of_the_script_are_told_at_its_line(tmp_path: Path) -> None:
    text = CALLED.replace("double(8, 64)", "pass") + "\nwidth = 1 // 0\n"
    (finding,) = seen_of(text, tmp_path).findings
    assert (finding.slug, finding.line) == ("python-error", line_of(text, "1 // 0"))
    assert finding.message == "ZeroDivisionError: integer division or modulo by zero"


def test_no_kernel_runs_and_what_stands_before_it_is_seen(tmp_path: Path) -> None:
    text = CALLED.replace('if __name__ == "__main__":\n    double(8, 64)', "") + (
        "import torch\n\nresult = double(8, 64)(torch.zeros(8, 64))\nraise AssertionError(result)\n"
    )
    seen = seen_of(text, tmp_path)
    assert not seen.findings and len(seen.kernels) == 1


@pytest.mark.whole
@pytest.mark.parametrize("text", ["", "x = 1\n", "import math\n", "raise SystemExit(3)\n"])
def test_a_script_without_kernels_is_quiet(text: str, tmp_path: Path) -> None:
    assert seen_of(text, tmp_path) == SeenScript()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("text", "place"),
    [("def f(:\n    pass\n", (1, 7)), ("x = (1,\n", (1, 5)), ("a\0b", (1, 1)), ("x = 1\n", None)],
)
def test_text_that_is_no_python(text: str, place: tuple[int, int] | None) -> None:
    found = syntax_mistake(Path("script.py"), text)
    assert (found and (found.line, found.column)) == place
