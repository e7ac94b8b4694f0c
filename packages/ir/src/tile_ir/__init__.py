"""Define the typed tile IR: types, expressions, op table, targets, text, verifier.

Other packages import from here, from `tile_ir.analysis` (facts of a function) and from families of
`tile_ir.ops`; the modules behind are rooms of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.chips import DEFAULT_TARGET, TARGETS, chosen_target
from tile_ir.diagnostics.errors import (
    BuildError,
    CallError,
    Diagnostic,
    IRError,
    KernelError,
    KernelWarning,
    Stopped,
    TileError,
    did_you_mean,
    warn,
)
from tile_ir.dtypes import (
    ALIASES,
    BFLOAT16,
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT64,
    DType,
    Kind,
    dtype_of,
    held,
    to_bytes,
)
from tile_ir.expr import (
    BINARY_FUNCTIONS,
    COMPARISONS,
    LOGICAL,
    ONE,
    ZERO,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    ExprError,
    Load,
    Select,
    Unary,
    Var,
    as_expr,
    binary,
    cast,
    ceildiv,
    children,
    computed_in,
    conjunction,
    constant_value,
    equal,
    is_constant,
    is_narrow,
    maximum,
    minimum,
    not_equal,
    promote,
    reads_memory,
    rebuild,
    select,
    substitute,
    unary,
    walk_expr,
)
from tile_ir.launch_sequence import LaunchSequence
from tile_ir.layout.footprint import (
    FRACTAL_ROWS,
    buffer_bytes,
    k0_elements,
    round_up,
    share_bytes,
    stored_matrix,
)
from tile_ir.layout.geometry import (
    BLOCK_BYTES,
    CACHE_LINE_BYTES,
    FRACTAL_MEMORIES,
    REPEAT_BYTES,
    active_dims,
    buffer_elements,
    element_count,
    element_offset,
    is_contiguous,
    matrix_view,
    squeezed,
    strides,
    trailing_matrix,
    transfer_rows,
)
from tile_ir.layout.overlap import Overlap
from tile_ir.layout.row_form import misalignment
from tile_ir.layout.tile_copy import Clipped, clamped_dims
from tile_ir.location import Loc
from tile_ir.machine import (
    CHOICES_OF_OPEN,
    CORE_OF_MEMORY,
    PACKED_MEMORIES,
    Core,
    Layout,
    Memory,
    Pipe,
    possible,
)
from tile_ir.nodes import (
    Alloc,
    Automatic,
    Body,
    Break,
    For,
    Func,
    Given,
    If,
    Launch,
    Let,
    LoopKind,
    Phase,
    Section,
    Stmt,
    Store,
    TaskKernel,
    While,
)
from tile_ir.op_parts import (
    REQUIRED,
    TOLD,
    Access,
    ArgumentDef,
    AttrDef,
    Composite,
    Effect,
    OperandDef,
    Problem,
)
from tile_ir.opdef import (
    Axes,
    Op,
    OpDef,
    Scratch,
    accesses,
    argument_of,
    call_arguments,
    check_form,
    check_op,
    core_of,
    element_limit,
    overwriting,
    pipe_of,
)
from tile_ir.ops import OPS
from tile_ir.regions import AttrValue, Operand, Region, Slice
from tile_ir.scalars.affine import Values, difference, distance, linear_form, resolved, simplify
from tile_ir.target import Target
from tile_ir.traversal import (
    bodies,
    breaks,
    buffers_of,
    expressions,
    generated,
    has_generated,
    loads,
    map_expressions,
    map_own_expressions,
    map_places,
    map_region,
    replace_buffers,
    replace_in,
    replace_own_buffers,
    rewrite,
    variables_in,
    variables_of,
    walk,
    walk_ops,
    with_bodies,
    with_statements,
    written_buffers,
    written_by,
    written_tensors,
)

if TYPE_CHECKING:
    from tile_ir.interpreter import interpret as interpret
    from tile_ir.interpreter import interpret_ranks as interpret_ranks
    from tile_ir.text.parser import parse as parse
    from tile_ir.text.printer import print_expr as print_expr
    from tile_ir.text.printer import print_func as print_func
    from tile_ir.verification.verifier import verify as verify

_LAZY = {
    "interpret": "tile_ir.interpreter",
    "interpret_ranks": "tile_ir.interpreter",
    "parse": "tile_ir.text.parser",
    "print_func": "tile_ir.text.printer",
    "print_expr": "tile_ir.text.printer",
    "verify": "tile_ir.verification.verifier",
}


def __getattr__(name: str) -> Any:
    # The parser brings lark and the interpreter NumPy; scripts that only trace need neither.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tile_ir' has no attribute {name!r}")


__all__ = [
    "ALIASES", "BFLOAT16", "BINARY_FUNCTIONS", "BLOCK_BYTES", "BOOL", "CACHE_LINE_BYTES",
    "CHOICES_OF_OPEN", "COMPARISONS", "CORE_OF_MEMORY", "DEFAULT_TARGET", "DTYPES", "FLOAT16",
    "FLOAT32", "FLOAT64", "FRACTAL_MEMORIES", "FRACTAL_ROWS", "INT8", "INT16", "INT32", "INT64",
    "LOGICAL", "ONE", "OPS", "PACKED_MEMORIES", "REPEAT_BYTES", "REQUIRED", "TARGETS", "TOLD",
    "UINT8", "UINT64", "ZERO", "Access", "Alloc", "ArgumentDef", "AttrDef", "AttrValue",
    "Automatic", "Axes", "Binary", "Body", "Break", "Buffer", "BuildError", "CallError", "Cast",
    "Clipped", "Composite", "Const", "Core", "DType", "Diagnostic", "Effect", "Expr", "ExprError",
    "For", "Func", "Given", "IRError", "If", "KernelError", "KernelWarning", "Kind", "Launch",
    "LaunchSequence", "Layout", "Let", "Load", "Loc", "LoopKind", "Memory", "Op", "OpDef",
    "Operand", "OperandDef",
    "Overlap", "Phase", "Pipe", "Problem", "Region", "Scratch", "Section", "Select", "Slice",
    "Stmt", "Stopped", "Store", "Target", "TaskKernel", "TileError", "Unary", "Values", "Var",
    "While", "accesses", "active_dims", "argument_of", "as_expr", "binary", "bodies", "breaks",
    "buffer_bytes", "buffer_elements", "buffers_of", "call_arguments", "cast", "ceildiv",
    "check_form", "check_op", "children", "chosen_target", "clamped_dims", "computed_in",
    "conjunction", "constant_value", "core_of", "did_you_mean", "difference", "distance",
    "dtype_of", "element_count", "element_limit", "element_offset", "equal", "expressions",
    "generated", "has_generated", "held", "interpret", "interpret_ranks", "is_constant",
    "is_contiguous", "is_narrow", "k0_elements", "linear_form", "loads", "map_expressions",
    "map_own_expressions", "map_places", "map_region", "matrix_view",
    "maximum", "minimum", "misalignment", "not_equal", "overwriting", "parse",
    "pipe_of", "possible", "print_expr", "print_func", "promote", "reads_memory", "rebuild",
    "replace_buffers", "replace_in", "replace_own_buffers", "resolved", "rewrite", "round_up",
    "select", "share_bytes", "simplify", "squeezed", "stored_matrix", "strides", "substitute",
    "to_bytes", "trailing_matrix",
    "transfer_rows", "unary", "variables_in", "variables_of", "verify", "walk", "walk_expr",
    "walk_ops", "warn", "with_bodies", "with_statements", "written_buffers", "written_by",
    "written_tensors",
]  # fmt: skip
