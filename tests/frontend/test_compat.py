"""The modules of tilelang: every name of the table leads somewhere, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import tile_frontend
import tile_runtime
from tile_frontend._dialects import imported_modules
from tile_frontend._dialects.imported_modules import import_table, value_at
from tile_ir import KernelError


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with imported_modules.installed():
        yield


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m, names in import_table().modules.items() for n in names]
)
def test_every_name_of_the_table_is_there(module: str, name: str) -> None:
    assert getattr(import_module(module), name) is value_at(import_table().modules[module][name])
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


def test_the_ways_generators_of_source_import() -> None:
    import tilelang
    import tilelang.engine.lower
    import tilelang.tvm as tvm
    from tilelang import env, is_cache_enabled
    from tilelang import tvm as same
    from tilelang.engine import lower
    from tilelang.engine.lower import lower as function
    from tilelang.env import TILELANG_TEMPLATE_PATH
    from tilelang.env import env as settings
    from tilelang.language.ascend import copy
    from tilelang.layout import Layout
    from tilelang.profiler.bench import do_bench
    from tilelang.testing import main, set_random_seed
    from tilelang.transform.pass_config import PassConfigKey
    from tilelang.utils.target import determine_target
    from tilelang.utils.tensor import torch_assert_close
    from tvm.transform import PassContext

    assert tvm is same and tvm.transform.PassContext is PassContext
    assert PassContext is tilelang.tvm.transform.PassContext is tilelang.transform.PassContext
    assert tilelang.lower is function and callable(lower) and callable(tilelang.engine.lower)
    assert is_cache_enabled() and env.is_cache_enabled() and settings.is_cache_enabled()
    assert settings.TILELANG_CACHE_DIR and env.TILELANG_CACHE_DIR
    assert Path(TILELANG_TEMPLATE_PATH).is_dir()
    assert determine_target() == "ascendc" and PassConfigKey is tilelang.PassConfigKey
    assert copy is tile_frontend.copy
    assert all(map(callable, (Layout, do_bench, main, set_random_seed, torch_assert_close)))


def test_expressions_by_the_names_of_another_compiler() -> None:
    import tvm
    from tilelang.tvm import tirx
    from tvm import tir

    assert tir is tvm.tir and tir.Select is tirx.Select is tile_frontend.Select
    assert tir.all is tirx.all and tir.all(True) and not tir.any(False)
    assert tir.if_then_else is tile_frontend.if_then_else and callable(tir.max)


def test_keys_of_other_versions_are_told_where_they_are_used() -> None:
    import tilelang

    key = tilelang.PassConfigKey.TL_ASCEND_AUTO_SINK
    assert key == "tl.ascend_auto_sink"
    with pytest.warns(UserWarning, match="'tl.ascend_auto_sink' is unknown and ignored"):
        tile_runtime.options.pass_configs.pass_options({key: True})
    for name in ("AUTO_SYNC", "TL", "tl_simplify"):
        with pytest.raises(AttributeError, match=f"no key '{name}'"):
            getattr(tilelang.PassConfigKey, name)


def test_element_types_by_their_other_names() -> None:
    import tilelang.language as T

    @T.prim_func
    def k(A: T.Tensor((16,), "uint"), B: T.Tensor((16,), T.float), n: T.int) -> None:
        with T.Kernel(1) as (cid, vid):
            T.alloc_ub((16,), T.half)

    assert [p.dtype.name for p in k.params] == ["uint32", "float32", "int32"]


def test_comparing_with_a_few_wrong_elements() -> None:
    import torch
    from tilelang.testing import torch_assert_close

    a = torch.zeros(1000)
    b = a.clone()
    b[7] = 1.0
    assert torch_assert_close(a, b)
    with pytest.raises(AssertionError, match="1 of 1000 elements differ"):
        torch_assert_close(a, b, max_mismatched_ratio=0)
    with pytest.raises(AssertionError, match="shapes differ"):
        torch_assert_close(a, b[:5])


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
                T.gemm(A, A, A)

    assert error.value.hint == "copy it to a tile on chip with T.copy first"


def test_uninstalling_leaves_nothing() -> None:
    before = dict(sys.modules)
    with imported_modules.installed():
        pass
    assert {n for n in sys.modules if n.partition(".")[0] in ("tilelang", "tvm")} == {
        n for n in before if n.partition(".")[0] in ("tilelang", "tvm")
    }


def test_installing_loads_nothing_heavy() -> None:
    program = (
        "import sys; from tile_frontend._dialects.imported_modules import install; install(); import tilelang;"
        "import tilelang.language as T; T.copy; tilelang.cache.clear_cache();"
        "print([m for m in ('torch', 'networkx', 'numpy', 'lark', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_modules_of_expressions() -> None:
    import tilelang.tvm as tvm
    from tvm import tirx
    from tvm.ir import PrimExpr
    from tvm.tirx import IntImm, PrimFunc, Select

    import tile_frontend as T
    from tile_ir import Func

    assert PrimExpr is tirx.PrimExpr
    assert tirx.const is tvm.tirx.const and tirx.const(3) == 3 and tvm.const is tirx.const
    assert IntImm is T.IntImm and Select is T.Select and PrimFunc is Func
    assert tvm.tir.ceildiv(7, 2) == 4 and tirx.any(True) is True
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tirx.nothing
