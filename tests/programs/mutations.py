"""Small mistakes in lowering, planted one at a time: the matrix has to notice each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import pytest

from tile_ir import Memory, Region, Slice
from tile_ir.dtypes import INT8
from tile_ir.expr import Const, Expr, cast, constant_value
from tile_ir.layout import geometry, tile_copy
from tile_passes.lowering.builder import Builder

Plant = Callable[[pytest.MonkeyPatch], None]
Dims = list[Slice]
_MOVES = (
    "copy_gm_ub", "copy_ub_gm", "copy_gm_l1", "copy_l0c_gm", "atomic_ub_gm", "atomic_l0c_gm",
)  # fmt: skip


def _everywhere(monkeypatch: pytest.MonkeyPatch, old: FunctionType, new: Any) -> None:
    """Replace a function wherever one of our modules has it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tile_") and getattr(module, old.__name__, None) is old:
            monkeypatch.setattr(module, old.__name__, new)


def _moved(change: Callable[[str, Dims, Dims, Region, Region], None]) -> Plant:
    """A mistake in the regions of the movements that lowering makes."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        original = Builder.op

        def op(self: Builder, name: str, operands: Any, loc: Any, *attrs: Any) -> Any:
            if name in _MOVES:
                src, dst = operands[:2]
                one, other = list(src.dims), list(dst.dims)
                change(name, one, other, src, dst)
                both = Region(src.buffer, tuple(one)), Region(dst.buffer, tuple(other))
                operands = (*both, *operands[2:])
            return original(self, name, operands, loc, *attrs)

        monkeypatch.setattr(Builder, "op", op)

    return plant


def _active(dims: Dims) -> list[int]:
    return [d for d, s in enumerate(dims) if constant_value(s.extent) != 1]


def _on_gm(src_dims: Dims, dst_dims: Dims, src: Region) -> Dims:
    return src_dims if src.memory is Memory.GM else dst_dims


def _drop_stride(_name: str, one: Dims, other: Dims, src: Region, _dst: Region) -> None:
    dims = _on_gm(one, other, src)
    active = _active(dims)
    if active and active[-1] != len(dims) - 1:
        moved = dims[active[-1]]
        dims[active[-1]] = replace(moved, extent=Const(1))
        dims[-1] = replace(dims[-1], extent=moved.extent)


def _pad_run(name: str, one: Dims, other: Dims, src: Region, dst: Region) -> None:
    if name != "copy_gm_ub":
        return
    block = 32 // dst.dtype.size
    for dims in (one, other):
        size = constant_value(dims[-1].extent)
        if size is not None and size % block:
            dims[-1] = replace(dims[-1], extent=Const(-(-size // block) * block))


def _swap_extents(_name: str, one: Dims, other: Dims, _src: Region, _dst: Region) -> None:
    for dims in (one, other):
        active = _active(dims)
        if len(active) > 1:
            a, b = active[-2:]
            dims[a], dims[b] = (
                replace(dims[a], extent=dims[b].extent),
                replace(dims[b], extent=dims[a].extent),
            )


def _shorten(place: int) -> Callable[[str, Dims, Dims, Region, Region], None]:
    def change(_name: str, one: Dims, other: Dims, _src: Region, _dst: Region) -> None:
        for dims in (one, other):
            active = _active(dims)
            if len(active) >= -place:
                d = active[place]
                dims[d] = replace(dims[d], extent=dims[d].extent - 1)

    return change


def _wrong_dimension(_name: str, one: Dims, other: Dims, src: Region, _dst: Region) -> None:
    dims = _on_gm(one, other, src)
    if len(dims) > 1:
        dims[0], dims[1] = (
            replace(dims[0], offset=dims[1].offset),
            replace(dims[1], offset=dims[0].offset),
        )


def _no_tile_offset(_name: str, one: Dims, other: Dims, src: Region, _dst: Region) -> None:
    dims = other if src.memory is Memory.GM else one
    dims[-1] = replace(dims[-1], offset=Const(0))


def _later_row(_name: str, one: Dims, other: Dims, src: Region, _dst: Region) -> None:
    dims = _on_gm(one, other, src)
    if len(dims) > 1:
        dims[-2] = replace(dims[-2], offset=dims[-2].offset + 1)


def _truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    original = geometry.element_offset

    def element_offset(region: Region) -> Expr:
        found = original(region)
        if region.memory is not Memory.GM:
            return found
        value = constant_value(found)
        return cast(found, INT8) if value is None else Const((value + 128) % 256 - 128)

    _everywhere(monkeypatch, original, element_offset)


def _dense_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    original = geometry.row_view

    def row_view(region: Region) -> Any:
        found = original(region)
        wrong = found is not None and region.memory is Memory.GM
        return found._replace(pitch=found.columns) if wrong else found

    _everywhere(monkeypatch, original, row_view)


def _no_cut_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tile_copy.clamped_dims
    _everywhere(monkeypatch, original, lambda region: original(region)[-1:])


def _cut_late(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tile_copy._available

    def available(region: Region, dim: int | None, clamped: bool) -> Expr:
        found = original(region, dim, clamped)
        if dim is None or not clamped or found == region.dims[dim].extent:
            return found
        value, extent = constant_value(found), constant_value(region.dims[dim].extent)
        cut = value is None or extent is None or value < extent
        return found + 1 if cut else found

    monkeypatch.setattr(tile_copy, "_available", available)


def _pad_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tile_copy.clip_copy
    _everywhere(monkeypatch, original, lambda src, dst, _pad_value: original(src, dst, None))


def _fill_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tile_copy.clip_copy

    def clip_copy(src: Region, dst: Region, pad_value: float | None) -> Any:
        found = original(src, dst, pad_value)
        if found.fill is None:
            return found
        return replace(found, fill=Region.whole(found.fill.buffer))

    _everywhere(monkeypatch, original, clip_copy)


MUTATIONS: dict[str, Plant] = {
    "drop a stride": _moved(_drop_stride),
    "pad a run": _moved(_pad_run),
    "truncate an offset": _truncated,
    "swap two extents": _moved(_swap_extents),
    "one column less": _moved(_shorten(-1)),
    "one row less": _moved(_shorten(-2)),
    "offset of the wrong dimension": _moved(_wrong_dimension),
    "no offset in the tile": _moved(_no_tile_offset),
    "begin a row later": _moved(_later_row),
    "rows of gm lie densely": _dense_rows,
    "rows are not cut at the edge": _no_cut_of_rows,
    "cut one too late": _cut_late,
    "the pad value is 0": _pad_is_zero,
    "fill all of the buffer": _fill_everything,
}
