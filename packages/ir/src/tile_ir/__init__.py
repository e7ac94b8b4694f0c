"""The typed tile IR: types, expressions, the op table, targets, text, verifier, interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.chips import DEFAULT_TARGET, TARGETS
from tile_ir.diagnostics import (
    BuildError,
    CallError,
    Diagnostic,
    IRError,
    KernelError,
    KernelWarning,
    TileError,
    did_you_mean,
    warn,
)
from tile_ir.dtypes import DTYPES, DType, dtype_of
from tile_ir.location import Loc
from tile_ir.machine import Core, Layout, Memory, Pipe
from tile_ir.nodes import (
    Alloc,
    Automatic,
    Break,
    Buffer,
    For,
    Func,
    If,
    Launch,
    Let,
    LoopKind,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    Store,
    While,
)
from tile_ir.opdef import Access, Composite, Effect, OpDef, Problem, check_op
from tile_ir.ops import OPS
from tile_ir.target import Target

if TYPE_CHECKING:
    from tile_ir.interpreter import interpret as interpret
    from tile_ir.parser import parse as parse
    from tile_ir.printer import print_func as print_func
    from tile_ir.verifier import verify as verify

_LAZY = {
    "interpret": "tile_ir.interpreter",
    "parse": "tile_ir.parser",
    "print_func": "tile_ir.printer",
    "verify": "tile_ir.verifier",
}


def __getattr__(name: str) -> Any:
    # The parser brings lark and the interpreter NumPy; scripts that only trace need neither.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tile_ir' has no attribute {name!r}")


__all__ = [
    "DEFAULT_TARGET",
    "DTYPES",
    "OPS",
    "TARGETS",
    "Access",
    "Alloc",
    "Automatic",
    "Break",
    "Buffer",
    "BuildError",
    "CallError",
    "Composite",
    "Core",
    "DType",
    "Diagnostic",
    "Effect",
    "For",
    "Func",
    "IRError",
    "If",
    "KernelError",
    "KernelWarning",
    "Launch",
    "Layout",
    "Let",
    "Loc",
    "LoopKind",
    "Memory",
    "Op",
    "OpDef",
    "Phase",
    "Pipe",
    "Problem",
    "Region",
    "Section",
    "Slice",
    "Store",
    "Target",
    "TileError",
    "While",
    "check_op",
    "did_you_mean",
    "dtype_of",
    "interpret",
    "parse",
    "print_func",
    "verify",
    "warn",
]
