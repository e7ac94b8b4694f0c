"""Code generators: found by target, and added by a package and a line of the registry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_codegen_ascendc
import tile_runtime
from hand_written import SAXPY, SAXPY_CPP, HandWritten
from tile_ir import Func, KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_runtime import compile, jit
from tile_runtime.jit_kernels.kernel_artifact import lower
from tile_runtime.options.code_generators import GENERATORS, code_generator
from tile_runtime.tools.command_line import main

UNSUPPORTED = "target {!r} is not supported, expected 'auto' or 'ascendc'"


def by_jit(func: Func, target: Any) -> str:
    return str(jit(out_idx=2, target=target)(lambda: func)().get_kernel_source())


def by_compile(func: Func, target: Any) -> str:
    return compile(func, out_idx=2, target=target).get_kernel_source()


def by_lower(func: Func, target: Any) -> str:
    return lower(func, target=target).kernel_source


WAYS = [by_jit, by_compile, by_lower]


@pytest.fixture
def copied() -> Func:
    """B = A, through all passes and the real code generator."""
    import tile_frontend as T

    @T.prim_func
    def copied(A: T.Tensor((8, 16), "float32"), C: T.Tensor((8, 16), "float32"),
               B: T.Tensor((8, 16), "float32")):  # fmt: skip
        with T.Kernel(1) as (cid, vid):
            a_ub = T.alloc_ub((8, 16), "float32")
            T.copy(A, a_ub)
            T.barrier_all()
            T.copy(a_ub, B)

    return copied


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("target", ["metal", "npuir", "Ascend C", "", None, 7, ["ascendc"]])
def test_a_target_that_nothing_makes(
    copied: Func, way: Callable[[Func, Any], str], target: object
) -> None:
    with pytest.raises(KernelError) as error:
        way(copied, target)
    assert error.value.slug == "target"
    assert error.value.message == UNSUPPORTED.format(target)
    assert error.value.hint == "leave target out: the emitted source is Ascend C"
    assert error.value.loc == copied.loc


@pytest.mark.parametrize("way", WAYS)
def test_targets_that_are_made(copied: Func, way: Callable[[Func, Any], str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert way(copied, "auto") == way(copied, "ascendc")


@pytest.mark.parametrize("target", ["cuda", "hip -mcpu=gfx950", {"kind": "cuda", "arch": "sm_90"}])
def test_a_gpu_is_no_target(copied: Func, target: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert by_compile(copied, target) == by_compile(copied, "auto")


@pytest.mark.parametrize("way", WAYS)
def test_a_target_of_tilelang_is_stood_in_for_and_told(
    copied: Func, way: Callable[[Func, Any], str]
) -> None:
    with pytest.warns(KernelWarning) as warned:
        source = way(copied, "pto")
    assert [str(w.message) for w in warned] == [
        f"{UNSUPPORTED.format('pto')}: Ascend C is emitted in its place [target-stood-in]"
    ]
    assert copied.loc is not None
    assert (warned[0].filename, warned[0].lineno) == (copied.loc.file, copied.loc.line)
    assert source == way(copied, "auto")


@pytest.mark.parametrize("command", ["emit", "opt", "check"])
def test_the_command_line_names_what_there_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    path = tmp_path / "k.tir"
    path.write_text(SAXPY)
    assert main([command, str(path), "--target", "pto"]) == 1
    told = capsys.readouterr().err
    assert "error[soc]: no chip or code generator is called 'pto'\nhint: one of Ascend910" in told
    assert told.endswith(", ascendc\n")


def test_the_command_line_emits_by_a_code_generator(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "k.tir"
    path.write_text(SAXPY)
    assert main(["emit", str(path)]) == 0
    usual = capsys.readouterr().out
    assert main(["emit", str(path), "--target", "ascendc"]) == 0
    assert capsys.readouterr().out == usual


def test_ascend_c_is_one_of_them() -> None:
    assert list(GENERATORS) == ["ascendc"]
    found = code_generator("ascendc")
    assert found is code_generator() is tile_codegen_ascendc.CODE_GENERATOR
    assert (found.language, found.suffix) == ("Ascend C", ".cpp")
    assert (found.headers / "tile_device.h").is_file()


class WithHeader(HandWritten):
    """Sources with a suffix and a header of their own."""

    language = "C++ with a header"
    suffix = ".cc"

    def __init__(self, headers: Path) -> None:
        super().__init__('#include "doubled.h"\n' + SAXPY_CPP.replace("s * a.Get", "TWICE * a.Get"))
        self.headers = headers


def test_files_are_the_code_generators(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    saxpy: Func,
) -> None:
    """What is compiled has its suffix and finds its headers; nothing is shared with Ascend C."""
    (tmp_path / "doubled.h").write_text("#define TWICE 2 * s\n")
    compile(saxpy, out_idx=2)
    monkeypatch.setattr(tile_codegen_ascendc, "CODE_GENERATOR", WithHeader(tmp_path))
    kernel = compile(saxpy, out_idx=2)
    assert not kernel.cached
    assert Path(kernel.srcpath).name == "kernel.cc"
    assert {p.name for p in Path(kernel.srcpath).parent.glob("*.c*")} == {"kernel.cc", "entry.cc"}
    assert kernel(torch.ones(3), torch.ones(3), 2.0).tolist() == [5.0] * 3
    assert compile(saxpy, out_idx=2).cached


LINES = '''\
"""The statements of a kernel, counted: a language for this test."""

from dataclasses import dataclass
from pathlib import Path

from tile_ir import Func, Target
from tile_ir.code_generator import CodeGenerator
from tile_ir.traversal import walk


@dataclass(frozen=True)
class Lines:
    language: str = "lines"
    suffix: str = ".txt"
    ai_cores: frozenset[str] = frozenset({"dav-c220"})
    headers: Path = Path(__file__).parent

    def emit(self, func: Func, target: Target) -> str:
        return f"{func.name} on {target.name}: {len(list(walk(func.launch.body)))} statements\\n"

    def entry(self, func: Func) -> str:
        return ""


CODE_GENERATOR: CodeGenerator = Lines()
'''
ADDED = """
import json, sys
from tile_ir import KernelError, parse
from tile_runtime.jit_kernels.kernel_artifact import lower
from tile_runtime.tools.command_line import main
func = parse(open(sys.argv[1]).read())
try:
    lower(func, target="columns")
except KernelError as error:
    told = error.message
print(json.dumps([lower(func, target="lines").kernel_source, told]))
main(["emit", sys.argv[1], "--target", "lines"])
"""


def test_a_code_generator_is_a_package_and_a_line(tmp_path: Path) -> None:
    """In a copy of the runtime, of which nothing but the registry is edited."""
    root = Path(tile_runtime.__file__).parent
    copy = tmp_path / "tile_runtime"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("*.cpp", "*.h", "*.so"))
    registry = copy / "options" / "code_generators.py"
    line = '    "ascendc": "tile_codegen_ascendc",\n'
    assert registry.read_text().count(line) == 1
    registry.write_text(
        registry.read_text().replace(line, line + '    "lines": "tile_codegen_lines",\n')
    )
    (tmp_path / "tile_codegen_lines").mkdir()
    (tmp_path / "tile_codegen_lines" / "__init__.py").write_text(LINES)
    kernel = tmp_path / "k.tir"
    kernel.write_text(SAXPY)
    done = subprocess.run(
        [sys.executable, "-c", ADDED, str(kernel)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lowered, emitted = done.stdout.splitlines()
    text = "saxpy on Ascend910B2: 0 statements"
    assert json.loads(lowered) == [
        text + "\n", "target 'columns' is not supported, expected 'auto', 'ascendc' or 'lines'"
    ]  # fmt: skip
    assert emitted == text
