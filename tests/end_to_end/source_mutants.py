"""Random changes to the text of a kernel: arguments dropped and swapped, numbers, names, strings and
operations exchanged, statements removed, repeated and moved."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from typing import Any

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 256, 4096, 1 << 20, 1 << 40, 0.5,
    -2.5, 1e30, True, None,
)  # fmt: skip
STRINGS = (
    "float16", "float32", "bfloat16", "int8", "uint8", "int16", "int32", "uint32", "int64",
    "bool", "int4", "V", "C", "mte1", "mte2", "mte3", "m", "v", "s", "fix", "CAST_NONE", "CAST_RINT",
    "CAST_FLOOR", "GT", "EQ", "VSEL_CMPMASK_SPR", "VSEL_TENSOR_TENSOR_MODE", "",
)  # fmt: skip
OPERATIONS = (
    "add", "sub", "mul", "div", "max", "min", "exp", "sqrt", "relu", "abs", "fill", "clear",
    "cast", "compare", "select", "gather", "sort", "topk", "sort32", "transpose", "broadcast",
    "createvecindex", "axpy", "mul_add_dst", "bitwise_and", "bitwise_not", "bitwise_lshift",
    "leaky_relu", "sigmoid", "sin", "pow", "clamp", "round", "gather_mask", "arith_progression",
    "merge_sort", "row_expand_mul", "wholereducemax", "block_reduce_sum", "atomic_add",
)  # fmt: skip
PLAIN = ("copy", "gemm_v0", "mma", "reduce_sum", "reduce_max", "set_flag", "wait_flag",
         "barrier_all", "pipe_barrier", "set_cross_flag", "wait_cross_flag", "printf",
         "alloc_ub", "alloc_L1", "alloc_L0C", "alloc_var", "alloc_shared", "serial", "Parallel",
         "unroll", "Pipelined", "ceildiv", "if_then_else", "loop_break", "sync_all")  # fmt: skip


def mutant(text: str, seed: int) -> str:
    """The program with one to three changes inside its prim_func."""
    rng = random.Random(seed)
    tree = ast.parse(text)
    kernel = next(f for f in ast.walk(tree) if _is_kernel(f))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changes: list[Callable[[ast.AST, random.Random], None]] = [
            _argument, _argument, _number, _number, _string, _name, _name, _operation, _operation,
            _slice, _statement, _statement, _operator, _value,
        ]  # fmt: skip
        rng.choice(changes)(kernel, rng)
    ast.fix_missing_locations(tree)
    return ast.unparse(tree)


def _is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(d) == "T.prim_func" for d in node.decorator_list
    )


def _some(kernel: ast.AST, kind: type[Any], rng: random.Random) -> Any:
    found = [n for stmt in kernel.body for n in ast.walk(stmt) if isinstance(n, kind)]  # type: ignore[attr-defined]
    return rng.choice(found) if found else None


def _argument(kernel: ast.AST, rng: random.Random) -> None:
    call = _some(kernel, ast.Call, rng)
    if not call.args:
        return
    i, j = rng.randrange(len(call.args)), rng.randrange(len(call.args))
    match rng.randrange(4):
        case 0:
            del call.args[i]
        case 1:
            call.args[i], call.args[j] = call.args[j], call.args[i]
        case 2:
            call.args.append(call.args[i])
        case _:
            other = _some(kernel, ast.Call, rng)
            if other is not call and other.args:
                call.args[i] = rng.choice(other.args)


def _constant(kernel: ast.AST, rng: random.Random, kinds: tuple[type, ...]) -> Any:
    found = [
        n for stmt in kernel.body for n in ast.walk(stmt)  # type: ignore[attr-defined]
        if isinstance(n, ast.Constant) and isinstance(n.value, kinds)
    ]  # fmt: skip
    return rng.choice(found) if found else None


def _number(kernel: ast.AST, rng: random.Random) -> None:
    node = _constant(kernel, rng, (int, float))
    if node is not None:
        node.value = rng.choice(NUMBERS)


def _string(kernel: ast.AST, rng: random.Random) -> None:
    node = _constant(kernel, rng, (str,))
    if node is not None:
        node.value = rng.choice(STRINGS)


def _name(kernel: ast.AST, rng: random.Random) -> None:
    node, other = _some(kernel, ast.Name, rng), _some(kernel, ast.Name, rng)
    if node.id != "T" and other.id != "T":
        node.id = other.id


def _operation(kernel: ast.AST, rng: random.Random) -> None:
    node = _some(kernel, ast.Attribute, rng)
    node.attr = rng.choice(OPERATIONS if isinstance(node.value, ast.Attribute) else PLAIN)


def _slice(kernel: ast.AST, rng: random.Random) -> None:
    node = _some(kernel, ast.Subscript, rng)
    if node is None:
        return
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    i = rng.randrange(len(parts))
    number = ast.Constant(rng.choice([n for n in NUMBERS if n is not None]))
    match rng.randrange(5):
        case 0:
            del parts[i]
        case 1:
            parts.append(parts[i])
        case 2:
            parts[i] = number
        case 3:
            parts[i] = ast.Slice(number, ast.Constant(rng.choice(NUMBERS)), None)
        case _:
            parts[i] = ast.Slice(None, number, rng.choice((None, ast.Constant(2))))
    if parts:
        node.slice = ast.Tuple(parts, ast.Load()) if len(parts) > 1 else parts[0]


def _statement(kernel: ast.AST, rng: random.Random) -> None:
    bodies = [
        b for n in ast.walk(kernel) for b in (getattr(n, "body", None),) if isinstance(b, list) and b
    ]  # fmt: skip
    body, other = rng.choice(bodies), rng.choice(bodies)
    i = rng.randrange(len(body))
    match rng.randrange(4):
        case 0 if len(body) > 1:
            del body[i]
        case 1:
            body.insert(i, body[rng.randrange(len(body))])
        case 2 if len(body) > 1:
            j = rng.randrange(len(body))
            body[i], body[j] = body[j], body[i]
        case _:
            stmt = body[i]
            if not any(n is other_stmt for n in ast.walk(stmt) for other_stmt in other):
                other.insert(rng.randrange(len(other) + 1), stmt)


def _operator(kernel: ast.AST, rng: random.Random) -> None:
    node = _some(kernel, ast.BinOp, rng)
    if node is not None:
        node.op = rng.choice((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift,
                              ast.RShift, ast.BitAnd, ast.Pow))()  # fmt: skip


def _value(kernel: ast.AST, rng: random.Random) -> None:
    """The right side of an assignment, a condition or an argument becomes another expression."""
    node, other = _some(kernel, ast.expr, rng), _some(kernel, ast.expr, rng)
    for owner in ast.walk(kernel):
        for field, held in ast.iter_fields(owner):
            if held is node and not isinstance(getattr(node, "ctx", None), ast.Store):
                if node not in ast.walk(other):
                    setattr(owner, field, other)
                return
