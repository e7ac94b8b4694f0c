"""Loads the Jinja2 templates: one file per family of operations, one macro per operation."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_codegen_ascendc.cxx.expressions import Known
from tile_codegen_ascendc.cxx.names import string_literal
from tile_codegen_ascendc.cxx.views import OpView, view_op
from tile_codegen_ascendc.tensor_view import TensorView
from tile_ir import AttrValue, Const, Effect, Loc, Op, OpDef, Operand, transfer_rows
from tile_ir.layout.geometry import row_view
from tile_ir.ops.broadcast import broadcast_axis
from tile_ir.ops.debug import printed_format
from tile_ir.ops.expand import blocks_apart
from tile_ir.ops.gather import PATTERNS
from tile_ir.ops.reduce import blocks_fit, kept_results, reduced_axis
from tile_ir.ops.scan import scanned_axis
from tile_ir.ops.transcendental import elements_at_once

if TYPE_CHECKING:
    from jinja2 import Environment, Template

TEMPLATE_DIR = Path(__file__).with_name("templates")


def _transfer(view: OpView) -> dict[str, str]:
    """Rows, columns and both pitches of a data movement, in C++."""
    src, dst = view.src, view.dst
    views = transfer_rows(src.region, dst.region)
    assert views is not None, "the verifier has checked the rows"
    return {
        "rows": dst.cxx(views[1].rows),
        "columns": dst.cxx(views[1].columns),
        "src_pitch": src.cxx(views[0].pitch),
        "dst_pitch": dst.cxx(views[1].pitch),
    }


def _padded_rows(view: OpView) -> dict[str, str]:
    """The same of rows that are padded to a width."""
    src, dst = (row_view(side.region) for side in (view.src, view.dst))
    assert src is not None and dst is not None, "the verifier has checked the rows"
    return {
        "rows": view.dst.cxx(dst.rows),
        "columns": view.src.cxx(src.columns),
        "src_pitch": view.src.cxx(src.pitch),
        "dst_pitch": view.dst.cxx(dst.pitch),
        "width": view.dst.cxx(dst.columns),
    }


def _reduce_work(op: Op) -> dict[str, int | bool]:
    return {"axis": reduced_axis(op), "kept": kept_results(op), "in_blocks": blocks_fit(op)}


_SETTINGS: dict[str, Any] = {
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
    "autoescape": False,  # C++ text, not HTML
}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    # Kernels that are in the cache are not emitted, and do not pay for the import.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from tile_codegen_ascendc.template_bytecode import TemplateBytecode

    env = Environment(
        loader=FileSystemLoader(TEMPLATE_DIR),
        undefined=StrictUndefined,
        bytecode_cache=TemplateBytecode(_SETTINGS),
        **_SETTINGS,
    )
    env.filters["cxx_string"] = string_literal
    env.globals["transfer"] = _transfer
    env.globals["padded_rows"] = _padded_rows
    env.globals["printed_format"] = printed_format
    env.globals["reduce_work"] = _reduce_work
    env.globals["blocks_apart"] = blocks_apart
    env.globals["pattern_number"] = lambda pattern: PATTERNS[pattern][0]
    env.globals["elements_at_once"] = elements_at_once
    env.globals["scanned_axis"] = scanned_axis
    env.globals["broadcast_axis"] = broadcast_axis
    return env


@lru_cache(maxsize=64)
def template(name: str) -> Template:
    return _environment().get_template(name)


@lru_cache(maxsize=64)
def _macro(family: str, name: str) -> Callable[..., Any] | None:
    module = template(f"{family}.jinja").module
    return getattr(module, name, None)


def has_template(family: str, name: str) -> bool:
    """Whether an operation can be emitted."""
    return (TEMPLATE_DIR / f"{family}.jinja").exists() and _macro(family, name) is not None


def render_op(op: Op, known: Known) -> str:
    """The C++ statements of an operation, one a line."""
    if op.opdef.effect in _ORDERING and all(isinstance(o, Const) for o in op.operands):
        return _ordering(op.opdef, op.operands, op.attrs)
    return _rendered(view_op(op, known, TensorView))


# Flags between few pipes, of few numbers, and barriers: the same texts again and again.
_ORDERING = (Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER)


@lru_cache(maxsize=1024)
def _ordering(opdef: OpDef, operands: tuple[Operand, ...], attrs: tuple[AttrValue, ...]) -> str:
    return _rendered(view_op(Op(opdef, operands, attrs, Loc("", 0, 0)), Known({})))


def _rendered(view: OpView) -> str:
    macro = _macro(view.node.opdef.family, view.node.opdef.name)
    assert macro is not None, f"no template for {view.node.opdef.name}"
    return str(macro(view)).strip()
