"""What Python itself shows of the language: signatures, help, listed names, kernels as text."""

from __future__ import annotations

import inspect
import pkgutil
import pydoc

import pytest

import tile_frontend as T
from tile_ir import parse, print_func


def test_only_the_language_is_listed() -> None:
    assert dir(T) == T.__all__ and dir(T.tile) == T.tile.__all__
    assert {"copy", "Kernel", "jit", "tile"} <= set(T.__all__)
    assert not {"Any", "values", "annotations", "NAMES"} & set(T.__all__)


def test_no_module_has_the_name_of_a_function() -> None:
    """Type checkers take the module: «Module not callable»."""
    modules = {m.name for m in pkgutil.iter_modules(T.__path__)}
    assert modules & set(T.__all__) == {"tile"}


def test_every_function_has_a_signature_and_a_text() -> None:
    for module in (T, T.tile):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                inspect.signature(value)
                assert inspect.getdoc(value), name


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("add", "(dst, src0, src1)"),
        ("cast", "(dst, src, mode='cast_none', count=None)"),
        ("merge_sort", "(dst, *srcs)"),
        # Optional in the record, but scripts have to say it.
        ("clamp", "(dst, src, min, max, count)"),
    ],
)
def test_operations_have_the_parameters_that_scripts_pass(name: str, parameters: str) -> None:
    assert str(inspect.signature(getattr(T.tile, name))) == parameters


def test_help_says_what_operands_may_be() -> None:
    text = pydoc.plain(pydoc.render_doc(T.tile.add))
    assert "T.tile.add(dst, src0, src1)" in text
    assert "src1: a buffer in ub, or a scalar, read" in text
    assert "mode: a Python str, one of 'cast_none'" in pydoc.plain(pydoc.render_doc(T.tile.cast))
    text = pydoc.plain(pydoc.render_doc(T.copy))
    assert "copy(src" in text and "pad_value: a Python float" in text
    # Under the names of the call, not of the record.
    text = pydoc.plain(pydoc.render_doc(T.reduce_sum))
    assert "buffer: a buffer in ub, read" in text and "out: a buffer in ub" in text


def test_a_kernel_is_shown_as_its_text() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            T.copy(A, a)

    assert isinstance(kernel, T.PrimFunc)
    assert repr(kernel) == print_func(kernel).rstrip("\n")
    assert print_func(parse(repr(kernel), "k.tir")) == print_func(kernel)
