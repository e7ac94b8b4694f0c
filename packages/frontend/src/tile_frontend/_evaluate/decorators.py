"""Evaluate functions under `@T.prim_func` and `@T.macro`: trace a kernel into a `tile_ir.Func`,
expand the body of a macro at each call (docs/language/index.md#macros)."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tile_frontend._dialects.known import Text, spoken_in
from tile_frontend._dialects.tilelang import TILELANG
from tile_frontend._dialects.tilelang_next_chip import TILELANG_NEXT_CHIP
from tile_frontend._dialects.triton_names import TRITON_NAMES
from tile_frontend._evaluate.call_expressions import Expandable
from tile_frontend._evaluate.scope import Captured, Scope, capture
from tile_frontend._evaluate.statements import StatementEvaluator
from tile_frontend._language.allocation import TensorType
from tile_frontend._language.conversions import DTypeName
from tile_frontend._language.pointers import Pointer, PointerType
from tile_frontend._tracing.dtype_names import element_type
from tile_frontend._tracing.faults import CURRENT, Fault
from tile_frontend._tracing.scalars import Scalar, describe
from tile_frontend._tracing.source import Source, find_function
from tile_frontend._tracing.symmetric import SymmetricTile
from tile_frontend._tracing.trace import LaunchReached, Trace, current
from tile_frontend._tracing.values import Cell, Tile
from tile_ir import (
    Automatic,
    Buffer,
    Func,
    KernelError,
    LaunchSequence,
    Load,
    Loc,
    Memory,
    Op,
    Store,
    TileError,
    Var,
    accesses,
    buffers_of,
    reads_memory,
    walk,
    walk_expr,
)
from tile_ir.diagnostics.errors import Expansion
from tile_ir.quick_dataclasses import replace

_ANNOTATE = "annotate it with T.Tensor(shape, dtype) or a scalar type such as T.int32"


def prim_func(fn: Callable[..., Any] | None = None, *, private: bool = False) -> Any:
    """Trace a kernel into a `T.PrimFunc`. `private` is accepted for scripts that pass it; it
    changes nothing."""
    if fn is None:
        frame = sys._getframe(1)
        return lambda f: _traced(f, frame)
    return _traced(fn, sys._getframe(1))


def _traced(fn: Any, frame: FrameType) -> Func | LaunchSequence:
    if not inspect.isfunction(fn):
        hint = "write @T.prim_func above a `def`"
        raise KernelError("prim-func", f"T.prim_func decorates functions, found {fn!r}", hint=hint)
    if fn.__name__ == "<lambda>":
        raise Fault("prim-func", "a lambda is no kernel", "write it with `def`")
    with tracing(fn) as trace:
        source, function = find_function(fn)
        return KernelEvaluator(trace, source, capture(fn, frame)).function(function, fn)


@contextmanager
def tracing(fn: Callable[..., Any]) -> Iterator[Trace]:
    """A new trace for the text of a function; whatever is raised inside becomes a KernelError that
    shows this text."""
    source, function = find_function(fn)
    loc = source.loc(function)
    trace = Trace(fn.__name__, (), loc, loc)
    match spoken_in(_texts(fn, set())):
        case d if d is TILELANG:
            trace.python_names = True
            # A block is one program, with a grid and tiles for a chip of many small cores, whose
            # accesses to tensors are all guarded.
            trace.automatic = frozenset(
                {Automatic.CORES, Automatic.BLOCKS, Automatic.TILES, Automatic.BOUNDS}
            )
        case d if d is TILELANG_NEXT_CHIP:
            trace.python_names = True
            # Its scheduler orders all that the text does not.
            trace.automatic = frozenset(Automatic) - {
                Automatic.TILES, Automatic.STORES, Automatic.STRIDES, Automatic.NEIGHBOURS,
                Automatic.PITCHES,
            }  # fmt: skip
    token = CURRENT.set(trace)
    shown: TileError
    cause: BaseException | None
    try:
        yield trace
        return
    except LaunchReached:
        raise
    except KernelError as error:
        shown = error.with_sources(trace.sources)
        cause = error.__cause__
    except RecursionError:
        shown = KernelError("too-deep", f"`{fn.__name__}` is nested too deeply", trace.here)
        cause = None
    except Exception as error:  # a value of the user's that cannot be compared, hashed, ...
        message = f"{type(error).__name__}: {error}"
        shown = KernelError("python-error", message, trace.here).with_sources(trace.sources)
        cause = error
    finally:
        CURRENT.reset(token)
    # Frames of the evaluator say nothing about the kernel.
    raise shown.with_traceback(None) from cause


def _texts(fn: Callable[..., Any], seen: set[Any]) -> Iterator[Text]:
    """The text of a function, and those of the macros that it names, each once."""
    _, function = find_function(fn)
    seen.add(fn)
    captured = capture(fn, None)
    yield function, captured.find
    for node in ast.walk(function):
        named = captured.find(node.id) if isinstance(node, ast.Name) else None
        if isinstance(named, Macro) and named.fn not in seen:
            yield from _texts(named.fn, seen)


class KernelEvaluator(StatementEvaluator):
    """Evaluates a kernel from its signature on."""

    def __init__(self, trace: Trace, source: Source, captured: Captured) -> None:
        super().__init__(trace, source, Scope(captured), 0)
        self.pointers: list[Pointer] = []

    def function(self, node: ast.FunctionDef, fn: Callable[..., Any]) -> Func | LaunchSequence:
        self._plain_parameters(node)
        annotations = [self._annotation(a, fn) for a in node.args.args]
        for annotation in annotations:
            if isinstance(annotation, TensorType):
                self._reserve_symbols(annotation, node)
        self.trace.params = tuple(map(self._parameter, node.args.args, annotations))
        self.trace.in_signature = False
        self.run(node.body)
        for pointer in self.pointers:
            if pointer.buffer in self.trace.params:
                name = pointer.buffer.name
                hint = f"write `{name} = T.make_tensor({name}, shape, dtype)` above the launch"
                message = f"nothing says what the pointer `{name}` leads to"
                raise KernelError("pointer-shape", message, pointer.buffer.loc, hint)
        return self.finish(node)

    def _Return(self, stmt: ast.Return) -> Any:
        if stmt.value is None:
            hint = "put the statements that it skips into an `else`; `break` leaves a loop"
            self.unsupported("`return` in a loop or a scope", stmt, hint)
        hint = "write results to a buffer that is passed in"
        self.unsupported("`return` of a value", stmt, hint)

    def finish(self, node: ast.FunctionDef) -> Func | LaunchSequence:
        """The traced function, once all of its text is evaluated."""
        try:
            traced = self.trace.finish()
        except Fault as fault:
            # Where the function's name stands.
            start = self.source.loc(node)
            self._place(fault, replace(start, column=start.column + len("def ")))
        for func in traced.funcs if isinstance(traced, LaunchSequence) else (traced,):
            _check_views(func)
        return traced

    def _plain_parameters(self, node: ast.FunctionDef) -> None:
        a = node.args
        for extra in (a.vararg, a.kwarg, *a.kwonlyargs, *a.posonlyargs):
            if extra is not None:
                hint = "kernels take parameters by position: no *args, **kwargs, / or *"
                what = f"parameter `{extra.arg}` is not a plain one"
                self.fail("parameter-kind", what, extra, hint)
        for default in a.defaults:
            hint = "pass the value at the call, or capture it from outside"
            self.fail("parameter-default", "a kernel parameter has a default value", default, hint)

    def _annotation(self, arg: ast.arg, fn: Callable[..., Any]) -> Any:
        """The annotation's value; Python has evaluated it unless the file postpones that."""
        if arg.annotation is None:
            method = "a kernel is no method: define it in the method or outside the class"
            hint = method if arg.arg == "self" else _ANNOTATE
            self.fail("parameter-type", f"parameter `{arg.arg}` has no type", arg, hint)
        value = fn.__annotations__.get(arg.arg)
        if not isinstance(value, str) or isinstance(value, DTypeName):
            return value
        return value if isinstance(arg.annotation, ast.Constant) else self.evaluate(arg.annotation)

    def _reserve_symbols(self, tensor: TensorType, node: ast.FunctionDef) -> None:
        for dim in tensor.shape:
            for e in walk_expr(dim):
                if isinstance(e, Var) and e not in self.trace.symbols:
                    if self.trace.names.fresh(e.name) != e.name:
                        what = f"two symbolic dimensions are called `{e.name}`"
                        hint = "give one of them another name"
                        self.fail("symbol-name", what, node, hint)
                    self.trace.symbols.add(e)
        self.trace.strides.update(tensor.strides_inside())

    def _parameter(self, arg: ast.arg, annotation: Any) -> Buffer | Var:
        name, loc = arg.arg, self.source.loc(arg)
        try:
            unique = self.trace.names.buffer(name, loc, self.expansion)
        except Fault as fault:
            self._place(fault, loc)
        if unique != name:
            what = f"parameter `{name}` has the name of a symbolic dimension"
            hint = "give one of them another name"
            self.fail("symbol-name", what, arg, hint)
        match annotation:
            case TensorType(shape=shape, dtype=dtype):
                if annotation.strides:
                    self.trace.automatic |= {Automatic.STRIDES}
                if annotation.symmetric:
                    tile = SymmetricTile.parameter(name, dtype, shape, loc, annotation.apart)
                    self.scope.bind(name, tile, loc)
                    return tile.buffer
                buffer = Buffer(name, Memory.GM, dtype, shape, loc)
                self.scope.bind(name, Tile(Memory.GM, dtype, shape, loc, buffer), loc)
                return buffer
            case PointerType():
                pointer = Pointer(name, loc)
                self.scope.bind(name, pointer, loc)
                self.pointers.append(pointer)
                return pointer.buffer
            case DTypeName():
                try:
                    var = Var(name, element_type(annotation))
                except Fault as fault:
                    self._place(fault, loc)
                self.trace.symbols.add(var)
                self.scope.bind(name, Scalar(var), loc)
                return var
        what = f"parameter `{name}` is annotated with {describe(annotation)}"
        hint = TRITON_NAMES.get(getattr(annotation, "__name__", "")) or _ANNOTATE
        self.fail("parameter-type", what, arg, hint)


def _check_views(func: Func) -> None:
    """Raise KernelError for a tensor that is written under one name and used under another: order
    between pipes and cores is kept by the name of a tensor."""
    root = {
        a.buffer: a.alias_of
        for a in func.launch.allocs
        if a.alias_of is not None and a.buffer.memory is Memory.GM
    }
    if not root:
        return
    names: dict[Buffer, dict[Buffer, Loc]] = {}
    written: dict[Buffer, Loc] = {}
    for stmt in walk(func.launch.body):
        for buffer in buffers_of(stmt):
            if buffer.memory is Memory.GM:
                names.setdefault(root.get(buffer, buffer), {}).setdefault(buffer, stmt.loc)
        changed = [stmt.buffer] if isinstance(stmt, Store) else []
        if isinstance(stmt, Op):
            changed = [region.buffer for region, access in accesses(stmt) if access.writes]
        for buffer in changed:
            if buffer.memory is Memory.GM:
                written.setdefault(root.get(buffer, buffer), stmt.loc)
    for tensor, used in names.items():
        if len(used) > 1 and tensor in written:
            _, (other, loc) = list(used.items())[:2]
            message = f"`{other.name}` and `{next(iter(used)).name}` are the same tensor, which is "
            message += f"written in line {written[tensor].line}"
            hint = "use a tensor that is written under one name only"
            raise KernelError("operand-memory", message, loc, hint, sources=func.sources)


def _passed(trace: Trace, parameter: ast.arg, value: Scalar) -> Scalar:
    """The value of a macro's parameter. Under `T.Ref`, and for a small array, it is the variable or
    element itself. In text for GPUs, a value that may change is copied at the call."""
    if isinstance(value, Cell) and value.tile in trace.private.arrays:
        return value
    kind = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
    if kind.strip("'\"").rpartition(".")[2] not in ("Ref", "Var"):
        return trace.let(parameter.arg, value.expr, trace.here) if _changes(trace, value) else value
    if isinstance(value, Cell):
        return value
    if not isinstance(value.expr, Load):
        message = f"`{parameter.arg}` is assigned by the macro, but given {describe(value)}"
        hint = "pass a T.alloc_var or an element, or leave out T.Ref"
        raise Fault("reference", message, hint)
    now = tuple(trace.let("i", i, trace.here).expr if reads_memory(i) else i
                for i in value.expr.indices)  # fmt: skip
    return Cell.of_element(Load(value.expr.buffer, now))


def _changes(trace: Trace, value: Scalar) -> bool:
    """Whether a macro of a kernel for a GPU may see the value change while it runs."""
    return trace.python_names and reads_memory(value.expr)


# A macro that calls itself without end is stopped before Python's own limit.
DEEPEST = 50


class Macro(Expandable):
    """A function whose text is evaluated where it is called."""

    def __init__(self, fn: Callable[..., Any], hygienic: bool, captured: Captured) -> None:
        self.fn, self.hygienic, self.captured = fn, hygienic, captured
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self._found: tuple[Source, ast.FunctionDef] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.expand(args, kwargs, None)

    def signature(self) -> inspect.Signature:
        return inspect.signature(self.fn)

    def text(self) -> tuple[Source, ast.FunctionDef]:
        if self._found is None:
            self._found = find_function(self.fn)
        return self._found

    def expand(self, args: Any, kwargs: dict[str, Any], caller: Scope | None) -> Any:
        """Evaluate the body with these arguments and return its value. A macro that is not hygienic
        looks names up at the call."""
        trace = current(f"macro `{self.__name__}`")
        source, function = self.text()
        try:
            bound = self.signature().bind(*args, **kwargs)
        except TypeError as error:
            hint = f"it takes {self.signature()}"
            raise Fault("arity", f"macro `{self.__name__}`: {error}", hint) from None
        bound.apply_defaults()
        if trace.depth >= DEEPEST:
            hint = "end it under a condition that is known while the kernel is traced"
            raise Fault("macro-recursion", f"macro `{self.__name__}` expands without end", hint)
        trace.expansions += 1
        trace.depth += 1
        scope = Scope(self.captured, None if self.hygienic else caller)
        evaluator = StatementEvaluator(trace, source, scope, trace.expansions)
        parameters = {a.arg: a for a in function.args.args}
        for name, value in bound.arguments.items():
            place = parameters.get(name)
            if place is not None and isinstance(value, Scalar):
                value = _passed(trace, place, value)
            scope.bind(name, value, source.loc(place or function))
        here = trace.here
        last = function.end_lineno or function.lineno
        call = Expansion(self.__name__, source.file, function.lineno, last, here)
        trace.calls.append(call)
        try:
            returned = evaluator.run(evaluator.with_thread_loops(function.body))
            return None if returned is None else returned.value
        except KernelError as error:
            raise error.with_notes([call.note()]) from error.__cause__
        finally:
            trace.depth -= 1
            trace.here = here


def macro(fn: Callable[..., Any] | None = None, *, hygienic: bool = True) -> Any:
    """Decorate a function to be expanded where a kernel calls it."""
    if fn is None:
        frame = sys._getframe(1)
        return lambda f: Macro(f, hygienic, capture(f, frame))
    if not inspect.isfunction(fn):
        hint = "write @T.macro above a `def`"
        raise KernelError("macro", f"T.macro decorates functions, found {fn!r}", hint=hint)
    return Macro(fn, hygienic, capture(fn, sys._getframe(1)))
