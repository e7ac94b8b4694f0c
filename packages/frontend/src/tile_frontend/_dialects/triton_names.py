"""Name the replacements for names and arguments of Triton, for hints.

The tables have only names that `written_here` does not find by the name of an operation.
"""

from __future__ import annotations

_TILE = "tile = T.alloc_shared(shape, dtype)"
_NO_DESCRIPTOR = "leave it out: T.copy(X[row, column], tile) loads a tile, and 0 beyond the tensor"
_UPDATES = "T.atomic_add, T.atomic_max and T.atomic_min update gm; no update returns the old value"
_HINT_OF_POINTERS = "leave it out: tensors have no pointers that need hints"

TRITON_NAMES = {
    "load": f"write T.copy(X[row, column], tile), with {_TILE}",
    "store": "write T.copy(tile, Y[row, column])",
    "program_id": "write `with T.Kernel(blocks, threads=2) as cid:`; `cid` is the program id",
    "arange": "name the first element: T.copy(X[start], tile); for the numbers themselves write "
    "T.tile.createvecindex(dst, first)",
    "make_block_ptr": _NO_DESCRIPTOR,
    "advance": _NO_DESCRIPTOR,
    "make_tensor_descriptor": _NO_DESCRIPTOR,
    "load_tensor_descriptor": _NO_DESCRIPTOR,
    "store_tensor_descriptor": "write T.copy(tile, Y[row, column])",
    "trans": "write T.tile.transpose(dst, src), or transpose_B=True in T.gemm_v0",
    "atomic_cas": _UPDATES,
    "atomic_xchg": _UPDATES,
    "atomic_and": _UPDATES,
    "atomic_or": _UPDATES,
    "atomic_xor": _UPDATES,
    "static_range": "write `for i in T.unroll(n):`",
    "static_print": "write print(...): Python runs it while the kernel is traced",
    "static_assert": "write `assert`: Python runs it while the kernel is traced",
    "device_print": 'write T.printf("%d\\n", x), with %f for floats, or T.dump_tensor(x, 0, 16)',
    "debug_barrier": "leave it out: the compiler orders the statements of a block",
    "constexpr": "make it a parameter of the Python function around the kernel",
    "expand_dims": "leave it out: T.Parallel(rows, columns) reads x[i] as one value for each row",
    "associative_scan": "write T.cumsum(src, dst, dim)",
    "multiple_of": _HINT_OF_POINTERS,
    "max_contiguous": _HINT_OF_POINTERS,
    "max_constancy": _HINT_OF_POINTERS,
    "fp16": "write T.float16",
    "bf16": "write T.bfloat16",
    "fp32": "write T.float32",
    "Config": 'write a dict: configs=[{"rows": 8}, {"rows": 16}]',
    "heuristics": "compute the value in the factory: it is a Python function",
    "rand": "pass random numbers as a tensor",
    "randn": "pass random numbers as a tensor",
    "randint": "pass random numbers as a tensor",
}
_STAGES = "write `for k in T.Pipelined(n, num_stages=2):`"
_CACHES = "leave it out: it has no counterpart on this chip"
_WARPS = "leave it out: the compiler divides and orders the work of a block"
_NOT_KEPT = "leave it out: trials run on tensors of their own"
_PADDING = "write pad_value=..., the value beyond the edges of the tensor; without it, it is 0"
# By the function of the language that takes them.
TRITON_ARGUMENTS = {
    "copy": {
        "mask": "leave it out: T.copy loads 0 beyond the tensor and stores nothing there",
        "boundary_check": "leave it out: T.copy checks all edges",
        "other": _PADDING,
        "padding_option": _PADDING,
        "cache_modifier": _CACHES,
        "volatile": _CACHES,
    },
    "gemm_v0": {
        "acc": "pass the accumulator as C; init=True starts a new sum",
        "allow_tf32": "leave it out: a product of float32 is exact",
        "input_precision": "leave it out: a product of float32 is exact",
        "out_dtype": "allocate C with this element type",
    },
    "autotune": {
        "key": "leave it out: each argument of the call is part of the key",
        "prune_configs_by": "give configs=function, which returns the list for a call",
        "reset_to_zero": _NOT_KEPT,
        "restore_value": _NOT_KEPT,
        "pre_hook": _NOT_KEPT,
        "post_hook": _NOT_KEPT,
    },
    "jit": {
        "num_warps": _WARPS,
        "num_stages": _STAGES,
        "do_not_specialize": 'declare a size of the call: N = T.symbolic("N")',
        "noinline": "leave it out",
    },
    "range": {"num_stages": _STAGES},
    "serial": {"num_stages": _STAGES},
    "Kernel": {
        "num_warps": "write threads=2: the compiler divides the work over both vector cores",
        "num_stages": _STAGES,
    },
}


def argument_of_triton(function: str, argument: str) -> str | None:
    """The text to write in place of an argument; None if the tables have none."""
    return TRITON_ARGUMENTS.get(function, {}).get(argument)
