"""Name the operation that replaces one of torch, NumPy, Triton or Python, for hints."""

from __future__ import annotations

from tile_ir import OPS, Memory, OpDef

# Another name of an operation of the table.
ALIASES = {
    "log": "ln", "loge": "ln", "logarithm": "ln", "absolute": "abs", "fabs": "abs",
    "swish": "silu", "inverse": "reciprocal", "rcp": "reciprocal", "plus": "add",
    "multiply": "mul", "times": "mul", "subtract": "sub", "minus": "sub", "divide": "div",
    "true_divide": "div", "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min",
    "power": "pow", "clip": "clamp", "leakyrelu": "leaky_relu", "full": "fill",
    "full_like": "fill", "memset": "fill", "zero": "clear", "zeros_like": "clear",
    "astype": "cast", "to": "cast", "type": "cast", "half": "cast", "float": "cast",
    "convert": "cast", "amax": "reduce_max", "amin": "reduce_min", "sum": "reduce_sum",
    "broadcast_to": "broadcast", "expand": "broadcast", "expand_as": "broadcast",
    "t": "transpose", "permute": "transpose", "swapaxes": "transpose",
    "logical_and": "bitwise_and", "logical_or": "bitwise_or", "logical_not": "bitwise_not",
    "eq": "compare", "ne": "compare", "gt": "compare", "ge": "compare", "lt": "compare",
    "le": "compare", "greater": "compare", "less": "compare", "equal": "compare",
    "arange": "createvecindex", "fma": "mul_add_dst", "addcmul": "mul_add_dst",
    "argsort": "sort", "take": "gather", "dot": "gemm_v0", "matmul": "gemm_v0", "mm": "gemm_v0",
    "bmm": "gemm_v0", "clone": "copy", "copy": "copy", "load": "copy",
    "store": "copy", "atomic": "atomic_add",
}  # fmt: skip
# What takes more than one operation, or none.
PHRASES = {
    "neg": "write T.tile.mul(dst, src, -1.0)",
    "negative": "write T.tile.mul(dst, src, -1.0)",
    "square": "write T.tile.mul(dst, src, src)",
    "mean": "write T.reduce_sum(buffer, out, dim=-1), then T.tile.mul(out, out, 1 / n)",
    "reduce_mean": "write T.reduce_sum(buffer, out, dim=-1), then T.tile.mul(out, out, 1 / n)",
    "softmax": "write T.reduce_max, T.tile.sub, T.tile.exp, T.reduce_sum and T.tile.div; "
    "examples/developer/softmax.py has it",
    "zeros": "allocate with T.alloc_shared(shape, dtype), then T.tile.clear(dst)",
    "ones": "allocate with T.alloc_shared(shape, dtype), then T.tile.fill(dst, 1.0)",
    "empty": "allocate with T.alloc_shared(shape, dtype)",
    "argmax": "write T.tile.topk with K=1: it gives pairs of value and index",
    "exp2": "write T.tile.mul(dst, src, math.log(2)), then T.tile.exp(dst, dst)",
    "log2": "write T.tile.ln(dst, src), then T.tile.mul(dst, dst, 1 / math.log(2))",
    "where": "write T.tile.select(dst, selMask, src0, src1, selMode) for tiles, "
    "T.if_then_else(condition, x, y) for elements",
    "num_programs": "it is the first argument of T.Kernel",
    "get_thread_binding": "the vector core is the second index of `with T.Kernel(...) as "
    "(cid, vid)`; there are no threads",
    "thread_binding": "T.Kernel yields the block and lane indices",
    "sync_threads": "there are no threads; T.barrier_all() waits for all pipes of the core",
    "syncthreads": "there are no threads; T.barrier_all() waits for all pipes of the core",
    "size": "write x.shape[0]",
    "numel": "write the product of x.shape",
    "dim": "write x.ndim",
    "len": "write x.shape[0]",
    "view": "allocate it in the shape that is needed, or write T.view(x, shape)",
    "reshape": "allocate it in the shape that is needed, or write T.reshape(x, shape)",
    "unsqueeze": "a slice has the dimensions of its buffer: write T.tile.broadcast or x[i, :]",
    "contiguous": "leave it out: buffers are contiguous",
    "item": "read one element with x[i]",
    "print": 'write T.printf("%f\\n", x[0]) for an element, T.dump_tensor(x, 0, 16) for a buffer',
    "any": "reduce it with T.reduce_max",
    "all": "reduce it with T.reduce_min",
}
# Functions of elements, and what they are called here.
_ELEMENT_ALIASES = {
    "fabs": "abs", "absolute": "abs", "maximum": "max", "minimum": "min", "fmax": "max",
    "fmin": "min", "power": "pow", "where": "if_then_else", "rint": "round", "clip": "clamp",
    "fmod": "truncmod",
}  # fmt: skip
_ELEMENT_PHRASES = {
    "int": 'write T.cast(x, "int32")',
    "float": 'write T.cast(x, "float32")',
    "bool": "write a comparison, such as x != 0",
    "item": "leave it out: an element is a number already",
    "print": 'write T.printf("%d\\n", x), with %f for floats',
}
# Operations that are wanted for tiles although the language has the name for other operands too.
_SHOWN = {
    "reduce_sum": "T.reduce_sum(buffer, out, dim=-1)",
    "reduce_max": "T.reduce_max(buffer, out, dim=-1)",
    "reduce_min": "T.reduce_min(buffer, out, dim=-1)",
    "gemm_v0": "T.gemm_v0(A, B, C, init=True)",
    "copy": "T.copy(src, dst)",
    "cumsum": "T.cumsum(src, dst)",
}


def written_here(name: str) -> str | None:
    """How the operation of this name is written on tiles; None if nothing is known of it."""
    key = name.rstrip("_").lower()
    if key in PHRASES:
        return PHRASES[key]
    name = ALIASES.get(key, key)
    opdef = OPS.get(name)
    if opdef is None or opdef.namespace is None or not _takes_tiles(opdef):
        return None
    return f"write {_SHOWN.get(name) or _call(opdef)}"


def reduced_here(name: str) -> str | None:
    """The same for a method or a function of one array, whose `max` is a reduction."""
    key = name.rstrip("_").lower()
    return written_here({"max": "reduce_max", "min": "reduce_min"}.get(key, key))


def element_here(name: str, arguments: str | None = None) -> str | None:
    """How the function of this name is written on elements, with the text of its arguments if it is
    known; None if there is none."""
    key = name.rstrip("_").lower()
    if key in _ELEMENT_PHRASES:
        return _ELEMENT_PHRASES[key]
    key = _ELEMENT_ALIASES.get(key, key)
    if key not in ELEMENT_FUNCTIONS:
        return None
    return f"write T.{key}({arguments or ELEMENT_FUNCTIONS[key]})"


ELEMENT_FUNCTIONS = {
    **dict.fromkeys(
        ("abs", "bitwise_not", "ceil", "cos", "erf", "exp", "exp2", "floor", "isfinite", "isinf",
         "isnan", "log", "log10", "log2", "round", "rsqrt", "sigmoid", "sin", "sqrt", "tanh",
         "trunc"), "x"
    ),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_or", "bitwise_xor", "max", "min", "pow", "truncdiv", "truncmod"),
        "x, y",
    ),
    "clamp": "x, min_val, max_val",
    "if_then_else": "condition, x, y",
}  # fmt: skip


def _takes_tiles(opdef: OpDef) -> bool:
    on_chip = frozenset(Memory) - {Memory.GM}
    return any(o.memories & on_chip for o in opdef.operands if o.memories)


def _call(opdef: OpDef) -> str:
    """The call with the parameters it must have."""
    optional = {o.name for o in opdef.operands if o.optional or o.variadic}
    named = [n for n in opdef.call_order() if n not in optional]
    operands = {o.name for o in opdef.operands}
    shown = [n for n in named if n in operands or n in _ATTRIBUTES_SHOWN]
    prefix = "T.tile." if opdef.namespace == "tile" else "T."
    return f"{prefix}{opdef.name}({', '.join(shown)})"


_ATTRIBUTES_SHOWN = ("mode", "selMode")
