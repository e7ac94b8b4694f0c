"""Tiles that global memory is updated with: movements that add, or keep the greater or the less,
where a copy would overwrite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT8, INT16, INT32
from tile_ir.lazy import np
from tile_ir.machine import Core, Memory, Pipe, possible
from tile_ir.nodes import Op
from tile_ir.opdef import Composite, OpDef, Problem, Rule
from tile_ir.ops.cast import convert
from tile_ir.ops.extrema import maximum, minimum
from tile_ir.ops.movement import (
    aligned_rows,
    clip_tile,
    placement_of_path,
    rows_of_elements,
    same_tile,
    tile_axes,
)
from tile_ir.ops.rules import (
    GM,
    L0C,
    UB,
    all_rules,
    same_size,
    source,
    updated,
)
from tile_ir.quick_dataclasses import dataclass
from tile_ir.target import Target

# What the transfers can add up in gm (docs/hardware/units.md#atomic-stores).
ADDABLE = (INT8, INT16, FLOAT16, BFLOAT16, INT32, FLOAT32)


def _placement(op: Op) -> tuple[Core, Pipe]:
    return placement_of_path((op.region("src").memory, Memory.GM))


def _addable(op: Op, target: Target) -> Problem | None:
    """Sums are of the type of the tensor; only results of the cube are converted on the way."""
    src, dst = op.region("src"), op.region("dst")
    if src.dtype == dst.dtype and src.memory is not Memory.L0C:
        return None
    if Memory.L0C in possible(src.memory) and (src.dtype, dst.dtype) in target.fixpipe:
        return None
    return Problem(
        "dtype-mismatch",
        f"{op.opdef.called}: src `{src.buffer.name}` is {src.dtype}, "
        f"but dst `{dst.buffer.name}` is {dst.dtype}",
        "src",
        "l0c float32 is added to float32, float16 or bfloat16; int32 to int32"
        if src.memory is Memory.L0C
        else "cast the tile with T.tile.cast first",
    )


@dataclass(frozen=True, slots=True)
class AtomicUpdate:
    """The update of elements of gm by a tile, described by `words`, and for rows by `of_rows`."""

    name: str
    mode: str
    words: str
    of_rows: str
    combine: Callable[[Any, Any], Any]


UPDATES = (
    AtomicUpdate("add", "SetAtomicAdd", "add a tile to gm", "added to", lambda a, b: a + b),
    AtomicUpdate(
        "max", "SetAtomicMax", "keep the greater of a tile and gm", "as maxima in", maximum
    ),
    AtomicUpdate("min", "SetAtomicMin", "keep the less of a tile and gm", "as minima in", minimum),
)


def _meaning(update: AtomicUpdate) -> Callable[[Op, Any, Any], Any]:
    def updated_elements(op: Op, src: Any, dst: Any) -> Any:
        """The elements of gm behind it, rounded once to the type of the tensor."""
        source_dtype, dtype = op.region("src").dtype, op.region("dst").dtype
        values = src if source_dtype == dtype else convert(src, source_dtype, dtype, "cast_rint")
        with np.errstate(all="ignore"):
            return update.combine(dst, np.reshape(values, np.shape(dst)))

    return updated_elements


def _piece(
    update: AtomicUpdate, path: str, doc: str, api: str, memory: frozenset[Memory], shape_rule: Rule
) -> OpDef:
    return OpDef(
        name=f"atomic_{path}" if update.name == "add" else f"atomic_{update.name}_{path}",
        family="atomic",
        doc=doc,
        ascend_c=f"{update.mode}, {api}, SetAtomicNone",
        spelling=f"atomic_{update.name}",
        namespace=None,
        operands=(source("src", memory), updated("dst", GM, *ADDABLE)),
        placement=_placement,
        axes=tile_axes,
        meaning=_meaning(update),
        dtype_rule=_addable,
        shape_rule=shape_rule,
        atomic=True,
    )


def _family(update: AtomicUpdate) -> tuple[OpDef, ...]:
    """The operation on tiles, and the transfers it becomes."""
    return (
        OpDef(
            name=f"atomic_{update.name}",
            family="atomic",
            doc=f"{update.words}, atomic with respect to other cores that {update.name}; the part "
            "beyond the tensor is cut",
            ascend_c=f"{update.mode}, DataCopyPad or Fixpipe, SetAtomicNone",
            operands=(source("src", UB | L0C), updated("dst", GM, *ADDABLE)),
            parameters=("dst", "src"),
            placement=_placement,
            axes=tile_axes,
            meaning=_meaning(update),
            composite=Composite.YES,
            clip=clip_tile,
            dtype_rule=_addable,
            shape_rule=same_tile,
            atomic=True,
        ),
        _piece(
            update,
            "ub_gm",
            f"ub {update.of_rows} gm, rows at any gm pitch",
            "DataCopyPad",
            UB,
            all_rules(same_size, aligned_rows),
        ),
        _piece(
            update,
            "l0c_gm",
            f"accumulator {update.of_rows} gm rows",
            "Fixpipe",
            L0C,
            all_rules(same_size, rows_of_elements),
        ),
    )


OPS = tuple(opdef for update in UPDATES for opdef in _family(update))
