"""Declarations of kernels: what is accepted, and what is said of the rest."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tile_runtime.ahead_of_time import DispatchField, KernelSpec, TileKernel, register_kernel
from tile_runtime.ahead_of_time.kernel_spec import is_registered

N, DTYPE = DispatchField("n", "int32"), DispatchField("dtype", "dtype")


def kernel(schema: Any, entries: Any, **attributes: Any) -> type[TileKernel]:
    return type("K", (TileKernel,), {
        "DISPATCH_SCHEMA": schema, "SPECIALIZATIONS": entries, **attributes})  # fmt: skip


def compiled(schema: Any, entries: Any, **attributes: Any) -> list[Any]:
    cls = kernel(schema, entries, **attributes)
    return [s.to_compile_spec("a.b.rope", cls.dispatch_schema()) for s in cls.specs()]


def test_dict_entries() -> None:
    (spec,) = compiled([N], [{"variant_key": "k", "n": 3, "extra": "x"}])
    assert (spec.kernel_name, spec.entry_symbol) == ("rope", "rope__k_call")
    assert spec.specialization == {"n": 3, "extra": "x"}
    assert spec.dispatch_values == {"n": 3}


def test_explicit_entries_and_names() -> None:
    entry = {"variant_key": "k", "specialization": {"n": 1}, "compile_definitions": {"A": "n"}}
    attributes = {"ENTRY_NAME": "go", "KERNEL_NAME": "kern"}
    definitions = {"B": "entry_symbol"}
    (spec,) = compiled([N], [entry], COMPILE_DEFINITIONS=definitions, **attributes)
    assert (spec.kernel_name, spec.entry_symbol) == ("kern", "go__k_call")
    assert spec.definitions() == ["B=go__k_call", "A=1"]


def test_spec_entries() -> None:
    (spec,) = compiled([N], [KernelSpec("k", {"n": 1}, entry_name="e")])
    assert spec.entry_symbol == "e__k_call"


@pytest.mark.parametrize(
    ("schema", "entries", "error", "told"),
    [
        ([], [{"variant_key": "k", "n": 1}], NotImplementedError, "no DISPATCH_SCHEMA"),
        ([N], [], NotImplementedError, "no SPECIALIZATIONS"),
        (["n"], [{"variant_key": "k", "n": 1}], TypeError, "no DispatchField"),
        ([N, N], [{"variant_key": "k", "n": 1}], ValueError, "there twice"),
        ([DispatchField("1n", "int32")], [{"variant_key": "k", "n": 1}], ValueError, "no C identifier"),
        ([DispatchField("n", "int8")], [{"variant_key": "k", "n": 1}], ValueError, "none of int32"),
        ([N], [{"n": 1}], KeyError, "no variant_key"),
        ([N], [3], TypeError, "no dict or KernelSpec"),
        ([N], [{"variant_key": "a b", "n": 1}], ValueError, "letters, digits"),
        ([N], [{"variant_key": "k"}], ValueError, "no specialization"),
        ([N, DTYPE], [{"variant_key": "k", "n": 1}], ValueError, "lacks dispatch fields: dtype"),
        ([N], [{"variant_key": "k", "n": True}], TypeError, "n is int32, found True"),
        ([N], [{"variant_key": "k", "n": 2**31}], TypeError, "more than int32 holds"),
        ([N], [{"variant_key": "k", "n": 1.0}], TypeError, "found 1.0"),
        ([DTYPE], [{"variant_key": "k", "dtype": 16}], TypeError, "name of a type"),
        ([N], [{"variant_key": "k", "n": 1, "entry_name": "a-b"}], ValueError, "no C identifier"),
        ([N], [{"variant_key": "k", "specialization": {"n": 1}, "m": 2}], KeyError, "m beside"),
        ([N], [{"variant_key": "k", "n": 1, "compile_definitions": {"A": "x"}}], KeyError,
         "which is no field"),
        ([N], [{"variant_key": "k", "n": 1, "compile_definitions": {"A": "entry_symbol"}}],
         KeyError, "name the entry"),
    ],
)  # fmt: skip
def test_mistakes(schema: Any, entries: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=re.escape(told)):
        compiled(schema, entries)


def test_a_subclass_is_not_registered() -> None:
    @register_kernel
    class One(TileKernel):
        pass

    class Two(One):
        pass

    assert is_registered(One)
    assert not is_registered(Two)
