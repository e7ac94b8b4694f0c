"""Evaluate expressions: Python values at once, runtime values as IR expressions.

The rules are in docs/language/index.md#expressions. A Fault of a called function gets its place
here.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn, TypeAlias

from tile_frontend._dialects.foreign_names import element_here, reduced_here, written_here
from tile_frontend._dialects.known import advice
from tile_frontend._evaluate.scope import MISSING, Lost, Scope
from tile_frontend._language import loops
from tile_frontend._language.scalar_functions import And, Not, Or, if_then_else
from tile_frontend._language.threads import ThreadNumber, both
from tile_frontend._tracing.faults import Fault, placed
from tile_frontend._tracing.scalars import Scalar, describe
from tile_frontend._tracing.source import Source
from tile_frontend._tracing.trace import Trace
from tile_frontend._tracing.values import Tile, View
from tile_ir import Diagnostic, ExprError, KernelError, Loc, Memory, Var, did_you_mean, walk_expr

BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod), ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift), ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_), ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor), ast.MatMult: ("@", operator.matmul),
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_), ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda a, b: a in b), ast.NotIn: ("not in", lambda a, b: a not in b),
}  # fmt: skip
# The operations on tiles that operators stand for in arrays of others.
OPERATIONS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "@": "matmul", "&": "bitwise_and",
    "|": "bitwise_or", "^": "bitwise_xor", "<<": "bitwise_lshift", ">>": "bitwise_rshift",
    "~": "bitwise_not", "==": "compare", "!=": "compare", "<": "compare", "<=": "compare",
    ">": "compare", ">=": "compare",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg), ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}  # fmt: skip

# What is said of syntax that kernels do not have, by the name of its node.
UNSUPPORTED: dict[str, tuple[str, str | None]] = {
    "SetComp": ("a set comprehension", "build the set outside the kernel"),
    "DictComp": ("a dict comprehension", "build the dict outside the kernel"),
    "NamedExpr": ("`:=`", "assign on a line of its own"),
    "Await": ("`await`", "kernels are not coroutines"),
    "Yield": ("`yield`", "kernels are not generators"),
    "YieldFrom": ("`yield from`", "kernels are not generators"),
    "Starred": ("a starred expression", "write the elements out"),
    "Continue": ("`continue` here", "put it in branches of a loop, or what follows in an `if`"),
    "Try": ("`try`", "kernels have no exceptions: test the condition with `if`"),
    "TryStar": ("`try`", "kernels have no exceptions: test the condition with `if`"),
    "Raise": ("`raise`", "write T.device_assert(condition), or check before the kernel"),
    "FunctionDef": ("a nested function", "define it outside, with @T.macro or without"),
    "AsyncFunctionDef": ("an async function", "kernels are not coroutines"),
    "ClassDef": ("a class", "define it outside"),
    "Import": ("`import`", "import at the top of the file"),
    "ImportFrom": ("`import`", "import at the top of the file"),
    "Global": ("`global`", "kernels capture names by value"),
    "Nonlocal": ("`nonlocal`", "kernels capture names by value"),
    "Delete": ("`del`", "leave it out: memory is free behind the last use of a buffer"),
    "Match": ("`match`", "write if / elif / else"),
    "AsyncFor": ("`async for`", "kernels are not coroutines"),
    "AsyncWith": ("`async with`", "kernels are not coroutines"),
}


Node: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword


class ExpressionEvaluator:
    """Evaluates the expressions of one function's text in a scope."""

    def __init__(self, trace: Trace, source: Source, scope: Scope, expansion: int) -> None:
        self.trace, self.source, self.scope = trace, source, scope
        self.expansion = expansion
        trace.sources[source.file] = source.text

    def fail(self, slug: str, message: str, node: Node, hint: str | None = None) -> NoReturn:
        raise KernelError(slug, message, self.source.loc(node), hint)

    def unsupported(
        self, what: str, node: ast.expr | ast.stmt, hint: str | None = None
    ) -> NoReturn:
        """Report syntax that kernels do not have."""
        self.fail("unsupported-syntax", f"{what} is not supported in a kernel", node, hint)

    def evaluate(self, node: ast.expr | ast.stmt) -> Any:
        """The value of an expression, a Python value or one of `values`; for a statement, its
        effect on the rest of its block."""
        method = getattr(self, "_" + type(node).__name__, None)
        if method is None:
            default = (f"`{ast.unparse(node)}`", None)
            what, hint = UNSUPPORTED.get(type(node).__name__, default)
            self.unsupported(what, node, hint)
        return method(node)

    def guarded(self, node: ast.expr | ast.stmt, fn: Callable[..., Any], *args: Any) -> Any:
        """`fn(*args)`, with its faults placed at `node`."""
        try:
            return fn(*args)
        except Fault as fault:
            self._place(fault, self.source.loc(node))
        except ExprError as error:
            self.fail(error.slug, str(error), node, error.hint)

    def _place(self, fault: Fault, loc: Loc) -> NoReturn:
        raise placed(fault, loc) from None

    def _Constant(self, node: ast.Constant) -> Any:
        if node.value is Ellipsis:
            self.unsupported("`...`", node, "write one `:` per dimension")
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        value = self.scope.find(node.id)
        if value is MISSING:
            self._unknown_name(node)
        lost = self.scope.read(node.id)
        if lost is not None:
            self._lost_value(node, lost)
        captured = isinstance(value, Scalar) and self.scope.is_captured(node.id)
        if captured and not self.trace.in_signature:
            value = self._as_stride(value)
            self._check_symbols(node, value)
        # `range` is a runtime loop in kernel text.
        return loops.serial if value is range else value

    def _as_stride(self, value: Any) -> Any:
        """The dimension for a symbol that is a stride of a parameter and no size."""
        inside = self.trace.strides.get(value.expr)
        if inside is None or value.expr in self.trace.symbols:
            return value
        return Scalar(inside)

    def _check_symbols(self, node: ast.Name, value: Scalar) -> None:
        """A symbol from outside must take its value from some tensor at the call."""
        for e in walk_expr(value.expr):
            if isinstance(e, Var) and e not in self.trace.symbols:
                message = f"the symbolic dimension `{e.name}` is in no parameter's shape"
                hint = "a symbol takes its value from a tensor: use it in a T.Tensor shape"
                self.fail("unbound-symbol", message, node, hint)

    def _unknown_name(self, node: ast.Name) -> NoReturn:
        dropped = self.scope.bound_at(node.id)
        if dropped is not None:
            where = f"inside the block at line {dropped.line} and ended with it"
            before = "bind it before the block, or keep it in a T.alloc_var"
            self.fail("unknown-name", f"`{node.id}` was bound {where}", node, before)
        hint = did_you_mean(node.id, self.scope.names()) or "bind it above this line"
        self.fail("unknown-name", f"`{node.id}` is not defined", node, hint)

    def _lost_value(self, node: ast.Name, lost: Lost) -> None:
        """A name is read whose last assignment in the text ended with its block."""
        here = self.source.loc(node)
        self.lost_assignment(
            f"`{node.id}` is assigned in a block and the value ends with it: "
            f"line {here.line} reads the one from before the block",
            lost,
            f"use another name, or keep the value in a variable: `{node.id} = T.alloc_var(...)`",
            Diagnostic("", f"`{node.id}` is read here", here, severity="note"),
        )

    def lost_assignment(self, message: str, lost: Lost, hint: str, *notes: Diagnostic) -> None:
        """An assignment that does not reach a reader (docs/language/index.md#statements): an error,
        or a remark where scripts rely on it."""
        if not lost.relied_on:
            raise KernelError("lost-assignment", message, lost.loc, hint, notes=notes)
        self.trace.remark(Diagnostic("lost-assignment", message, lost.loc, hint, "warning"))

    def _Attribute(self, node: ast.Attribute) -> Any:
        owner = self.evaluate(node.value)
        try:
            return getattr(owner, node.attr)
        except AttributeError as error:
            self._unknown_attribute(node, owner, error)
        except KernelError as error:
            if error.loc is not None:
                raise
            raise placed(error, self.source.attribute_loc(node)) from None

    def _unknown_attribute(
        self, node: ast.Attribute, owner: Any, error: AttributeError
    ) -> NoReturn:
        shown = ast.unparse(node)
        known = [name for name in dir(owner) if not name.startswith("_")]
        hint = advice(getattr(owner, "__name__", ""), node.attr)
        if isinstance(owner, (Tile, View)):
            hint = reduced_here(node.attr)
        elif isinstance(owner, Scalar):
            hint = element_here(node.attr)
        hint = hint or did_you_mean(node.attr, known)
        # Raised inside a property of the user's, it is worth showing; else it says nothing more.
        deeper = error.__traceback__.tb_next if error.__traceback__ else None
        cause = None if deeper is None or isinstance(owner, ModuleType) else error
        loc = self.source.attribute_loc(node)
        raise KernelError("unknown-name", f"`{shown}` is not defined", loc, hint) from cause

    def _BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.combine(node, *BINARY[type(node.op)], left, right)

    def combine(
        self, node: ast.expr | ast.stmt, symbol: str, fn: Callable[[Any, Any], Any],
        left: Any, right: Any,
    ) -> Any:  # fmt: skip
        """`left symbol right`, with a clear error where that means nothing."""
        try:
            return self.guarded(node, fn, left, right)
        except KernelError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            takes = f"`{symbol}` does not take"
            for value in (left, right):
                if isinstance(value, Tile) and value.memory is Memory.GM and symbol in "+-":
                    part = "a part of a tensor is named by its first element: write X[start]"
                    self.fail("operand-type", f"{takes} {describe(value)}", node, part)
                if isinstance(value, (Tile, View)):
                    hint = written_here(OPERATIONS.get(symbol, ""))
                    if symbol != "@":
                        hint = hint or "compute on tiles with T.tile operations"
                        hint += ", or compute on elements in T.Parallel"
                    self.fail("operand-type", f"{takes} {describe(value)}", node, hint)
            if isinstance(error, TypeError) or any(isinstance(v, Scalar) for v in (left, right)):
                message = f"{takes} {describe(left)} and {describe(right)}"
                self.fail("operand-type", message, node, "convert one of them first")
            if isinstance(error, ZeroDivisionError):
                hint = "divide by a number other than 0"
                self.fail("division-by-zero", f"`{symbol}`: the divisor is 0", node, hint)
            self.fail("python-error", f"{type(error).__name__}: {error}", node)

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, ThreadNumber):
                return value.combined(lambda found, _: not found, 0)
            return self.guarded(node, Not, value) if isinstance(value, Scalar) else not value
        symbol, fn = UNARY[type(node.op)]
        return self.combine(node, symbol, lambda a, _: fn(a), value, None)

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        """Python's short circuit as long as the values are Python's, then the IR's operator."""
        wants_all = isinstance(node.op, ast.And)
        value = self.evaluate(node.values[0])
        for following in node.values[1:]:
            if isinstance(value, ThreadNumber):
                right = self.evaluate(following)
                value = self.guarded(node, both, value, right, wants_all)
            elif isinstance(value, Scalar):
                right = self.evaluate(following)
                value = self.guarded(node, And if wants_all else Or, value, right)
            elif bool(value) == wants_all:
                value = self.evaluate(following)
        return value

    def _Compare(self, node: ast.Compare) -> Any:
        left = self.evaluate(node.left)
        result: Any = None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(comparator)
            found = self.combine(node, *COMPARE[type(op)], left, right)
            result = found if result is None else self._both(node, result, found)
            left = right
        return result

    def _both(self, node: ast.expr, a: Any, b: Any) -> Any:
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return self.guarded(node, And, a, b)
        return a and b

    def _IfExp(self, node: ast.IfExp) -> Any:
        """One side now, where the condition is known; else both, of which one is evaluated when
        the kernel runs."""
        test = self.evaluate(node.test)
        if not isinstance(test, Scalar):
            return self.evaluate(node.body if test else node.orelse)
        then, orelse = self.evaluate(node.body), self.evaluate(node.orelse)
        return self.guarded(node, if_then_else, test, then, orelse)

    def _Lambda(self, node: ast.Lambda) -> Any:
        """A function of the text, evaluated where it is called."""
        a = node.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
            self.unsupported("a lambda with more than plain parameters", node, "write a T.macro")
        names = [arg.arg for arg in (*a.posonlyargs, *a.args)]

        def function(*values: Any) -> Any:
            if len(values) != len(names):
                raise TypeError(f"the lambda takes {len(names)} values, found {len(values)}")
            with self.scope.block():
                for name, value in zip(names, values, strict=True):
                    self.scope.bind(name, value, self.source.loc(node))
                return self.evaluate(node.body)

        return function

    def _Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.elements(node.elts))

    def _List(self, node: ast.List) -> Any:
        return self.elements(node.elts)

    def elements(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """The values of expressions, `*` those of a sequence."""
        found: list[Any] = []
        for node in nodes:
            match node:
                case ast.Starred(value=value):
                    found.extend(self._python_sequence(value))
                case _:
                    found.append(self.evaluate(node))
        return found

    def _python_sequence(self, node: ast.expr) -> Any:
        value = self.evaluate(node)
        if not isinstance(value, (tuple, list)):
            hint = "pass a tuple or a list"
            self.fail("unsupported-syntax", f"`*` does not take {describe(value)}", node, hint)
        return value

    def _Set(self, node: ast.Set) -> Any:
        return {self.evaluate(e) for e in node.elts}

    def _Dict(self, node: ast.Dict) -> Any:
        result = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.unsupported("`**` in a dict", value)
            result[self.evaluate(key)] = self.evaluate(value)
        return result

    def _Slice(self, node: ast.Slice) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if p is None else self.evaluate(p) for p in parts))

    def _Subscript(self, node: ast.Subscript) -> Any:
        owner = self.evaluate(node.value)
        index = self.evaluate(node.slice)
        if isinstance(owner, (list, tuple, dict)):
            index = self._known_index(node, owner, index)
        try:
            return owner[index]
        except Fault as fault:
            self._place(fault, self.source.loc(_index_node(node, fault.argument)))
        except (TypeError, LookupError) as error:
            if isinstance(owner, View):
                what = f"{describe(owner)} is sliced again"
                self.fail("operand-kind", what, node, "slice the buffer itself")
            if isinstance(owner, Scalar):
                hint = "index the tensor or tile that it was loaded from"
                self.fail("operand-kind", f"{describe(owner)} has no elements", node, hint)
            self.fail("python-error", f"{type(error).__name__}: {error}", node)

    def _known_index(self, node: ast.Subscript, owner: Any, index: Any) -> Any:
        """The index of a Python container, which must be known now; a number that a name stands
        for is."""
        if not isinstance(index, Scalar):
            return index
        number = self.trace.known_number(index.expr)
        if number is None:
            name = ast.unparse(node.value)
            held = owner.values() if isinstance(owner, dict) else owner
            instead = (
                "allocate one buffer with a leading dimension and take slices of it"
                if any(isinstance(value, (Tile, View)) for value in held)
                else "pass the numbers in a tensor"
            )
            message = f"`{name}` is a Python {type(owner).__name__}, whose elements are picked "
            message += f"while the kernel is traced, but the index is {describe(index)}"
            hint = f"loop with `for i in T.unroll(n)`, or over `{name}` itself; or {instead}"
            self.fail("runtime-value", message, node.slice, hint)
        return number


def _index_node(node: ast.Subscript, position: str | int | None) -> ast.expr:
    """The part of a subscript with a number; slices have a place of their own only from 3.9 on."""
    if not isinstance(position, int):
        return node
    if isinstance(node.slice, ast.Tuple) and position < len(node.slice.elts):
        return node.slice.elts[position]
    return node.slice
