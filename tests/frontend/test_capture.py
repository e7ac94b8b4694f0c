"""Names from around a kernel are captured by value (docs/language/index.md#names)."""

import math

import pytest

import tile_frontend as T
from tile_ir import KernelError

SIZE = 64


class Events:
    FREE = 3


def test_values_are_those_of_the_moment_of_decoration(show):
    kernels = []
    for value in (1, 2):

        @T.prim_func
        def k(A: T.Tensor((SIZE,), "int32")):
            with T.Kernel(1) as (cid, vid):
                A[0] = value

        kernels.append(k)
    assert [show(k) for k in kernels] == [["$A[0] = 1"], ["$A[0] = 2"]]


def test_macros_capture_by_value_too(show):
    macros = []
    for value in (1, 2):

        @T.macro
        def step(A):
            A[0] = value

        macros.append(step)
    first, second = macros

    @T.prim_func
    def k(A: T.Tensor((SIZE,), "int32")):
        with T.Kernel(1) as (cid, vid):
            first(A)
            second(A)

    assert show(k) == ["$A[0] = 1", "$A[0] = 2"]


def test_what_can_be_captured(show):
    table = {"a": 5, "b": [1, 2, (3, 4)]}
    dtype = "float16"
    kind = T.DataType(dtype)
    flag = None
    binary_op = getattr(T.tile, "add")
    n = T.symbolic("n")

    @T.prim_func
    def k(A: T.Tensor((n, SIZE), dtype)):
        with T.Kernel(T.ceildiv(n, SIZE)) as (cid, vid):
            u = T.alloc_ub((SIZE // (kind.bits // 8),), dtype)
            binary_op(u, u, u)
            A[table["b"][2][1], 0] = float(table["a"]) * math.pi
            A[Events.FREE, 0] = max(1, 2) + len(table)
            if flag is None and "a" in table:
                A[n - 1, 0] = 1.0

    assert k.launch.allocs[0].buffer.static_shape() == (32,)
    assert show(k) == [
        "add($u, $u, $u)",
        f"$A[4, 0] = {5 * math.pi!r}:float16",
        "$A[3, 0] = 4.0:float16",
        "$A[%n - 1, 0] = 1.0:float16",
    ]


def test_a_local_name_that_the_enclosing_function_also_has(show):
    h = 5

    @T.prim_func
    def k(A: T.Tensor((SIZE,), "int32")):
        with T.Kernel(1) as (cid, vid):
            h = h + 1
            A[0] = h

    assert show(k) == ["let %h: int32 = 6", "$A[0] = %h"]


def test_functions_without_source_are_refused_clearly():
    names = {"T": T}
    text = (
        "@T.prim_func\n"
        "def k(A: T.Tensor((16,), 'int32')):\n"
        "    with T.Kernel(1) as (cid, vid):\n"
        "        pass\n"
    )
    with pytest.raises(KernelError) as error:
        exec(compile(text, "<string>", "exec"), names)
    assert error.value.slug == "source-unavailable"
    assert error.value.message == ("the source of `k` cannot be read: <string> is not a file")
    assert error.value.hint == "put the kernel in a .py file and import it"


def test_only_functions_can_be_decorated():
    with pytest.raises(KernelError, match="decorates functions"):
        T.prim_func(3)
    with pytest.raises(KernelError, match="decorates functions"):
        T.macro("x")


def test_postponed_annotations(tmp_path, show):
    (tmp_path / "postponed.py").write_text(
        "from __future__ import annotations\n"
        "import tile_frontend as T\n"
        "def make(size, dtype):\n"
        "    shape = (size, 4)\n"
        "    @T.prim_func\n"
        "    def k(A: T.Tensor(shape, dtype), n: T.int32):\n"
        "        with T.Kernel(n) as (cid, vid):\n"
        "            A[0, 0] = n\n"
        "    return k\n"
    )
    import importlib.util

    spec = importlib.util.spec_from_file_location("postponed", tmp_path / "postponed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    k = module.make(8, "float16")
    assert k.tensors[0].static_shape() == (8, 4)
    assert k.tensors[0].dtype.name == "float16"
    with pytest.raises(KernelError, match="'floot' is not an element type") as error:
        module.make(8, "floot")
    assert (error.value.loc.line, error.value.loc.column) == (6, 30)


def test_traces_of_a_changed_file_are_refused(tmp_path):
    path = tmp_path / "changing.py"
    text = (
        "import tile_frontend as T\n"
        "def make():\n"
        "    @T.prim_func\n"
        "    def k(A: T.Tensor((4,), 'int32')):\n"
        "        with T.Kernel(1) as (cid, vid):\n"
        "            A[0] = 1\n"
        "    return k\n"
    )
    path.write_text(text)
    import importlib.util

    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make()
    path.write_text("\n\n" + text)
    with pytest.raises(KernelError) as error:
        module.make()
    assert error.value.slug == "source-changed"


def test_postponed_annotations_may_name_symbols(tmp_path):
    (tmp_path / "symbols.py").write_text(
        "from __future__ import annotations\n"
        "import tile_frontend as T\n"
        "def make():\n"
        '    M = T.symbolic("M")\n'
        "    @T.prim_func\n"
        '    def k(A: T.Tensor((M, 4), "int32")):\n'
        "        with T.Kernel(M) as (cid, vid):\n"
        "            A[cid, 0] = M\n"
        "    return k\n"
    )
    import importlib.util

    spec = importlib.util.spec_from_file_location("symbols", tmp_path / "symbols.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert [s.name for s in module.make().symbols] == ["M"]
