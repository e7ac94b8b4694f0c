"""The modules of tilelang: every name of the table leads somewhere, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

import tile_frontend
import tile_runtime
from tile_frontend import compat
from tile_frontend.table_module import value_at
from tile_ir import KernelError


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with compat.installed():
        yield


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m, names in compat.MODULES.items() for n in names]
)
def test_every_name_of_the_table_is_there(module: str, name: str) -> None:
    assert getattr(import_module(module), name) is value_at(compat.MODULES[module][name])
    assert name in dir(import_module(module))


def test_the_ways_scripts_import() -> None:
    import tilelang
    import tilelang as tl
    import tilelang.language as T
    import tilelang.language.reduce_ascend as reductions
    from tilelang import DataType, JITKernel, carver, jit
    from tilelang import language as language
    from tilelang.carver.arch.ascend import Ascend
    from tilelang.intrinsics import make_nz_layout, make_zn_layout
    from tilelang.jit.adapter import CythonKernelAdapter
    from tilelang.jit.adapter.libgen import LibraryGenerator
    from tilelang.profiler import do_bench
    from tilelang.utils.target import determine_platform

    assert T is language is tl.language
    assert T.copy is tile_frontend.copy and T.tile.add is tile_frontend.tile.add
    assert reductions.reduce_sum is T.reduce_sum
    assert DataType("float16").bits == 16
    assert tilelang.cdiv(7, 2) == 4 and tilelang.math.next_power_of_2(33) == 64
    assert tilelang.jit is jit is sys.modules["tilelang.jit"]
    assert tilelang.tvm.TVMError is KernelError and issubclass(KernelError, ValueError)
    assert tilelang.engine.lower and tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC
    assert JITKernel is tile_runtime.JITKernel
    for value in (carver.MatmulTemplate, Ascend, make_nz_layout, make_zn_layout, do_bench,
                  CythonKernelAdapter, LibraryGenerator, determine_platform):  # fmt: skip
        assert callable(value)


def test_jit_is_a_module_that_decorates() -> None:
    import tilelang

    @tilelang.jit(out_idx=[-1], target="pto")
    def factory(n: int) -> None: ...

    @tilelang.jit
    def plain(n: int) -> None: ...

    assert factory.__jit_impl__.target == "pto" and factory.__jit_impl__.out_idx == [-1]
    assert plain.__wrapped__ and plain.__jit_impl__.target == "auto"
    with pytest.raises(AttributeError):
        _ = plain.__jit_impl__.nothing


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [
        ("tilelang", "compille", "'tilelang' has no attribute 'compille'.*did you mean `compile`"),
        ("tilelang.profiler", "do_bnch", "did you mean `do_bench`"),
        ("tilelang.language", "alloc_local", "T.alloc_local does not exist: allocate with"),
        ("tilelang.math", "__missing__", "has no attribute '__missing__'$"),
        ("tilelang.autotuner", "Nothing", "not among what this compiler takes over"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_its_module(
    module: str, name: str, text: str
) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(import_module(module), name)


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"tilelang\.quantize"):
        import_module("tilelang.quantize")


def test_a_wrong_name_in_a_kernel_is_told_at_its_line() -> None:
    import tilelang.language as T

    with pytest.raises(KernelError) as error:

        @T.prim_func
        def main(A: T.Tensor((16,), "float32")) -> None:
            with T.Kernel(1) as (cid, vid):
                T.exp_all(A)

    assert error.value.slug == "unknown-name"
    with pytest.raises(KernelError) as error:

        @T.prim_func
        def other(A: T.Tensor((16,), "float32")) -> None:
            with T.Kernel(1) as (cid, vid):
                T.add(A, A, A)

    assert error.value.hint == "write T.tile.add"


def test_uninstalling_leaves_nothing() -> None:
    before = dict(sys.modules)
    with compat.installed():
        pass
    assert {n for n in sys.modules if n.partition(".")[0] in ("tilelang", "tvm")} == {
        n for n in before if n.partition(".")[0] in ("tilelang", "tvm")
    }


def test_installing_loads_nothing_heavy() -> None:
    program = (
        "import sys; from tile_frontend import compat; compat.install(); import tilelang;"
        "import tilelang.language as T; T.copy; tilelang.cache.clear_cache();"
        "print([m for m in ('torch', 'networkx', 'numpy', 'lark', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
