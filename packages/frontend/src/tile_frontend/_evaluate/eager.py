"""Trace functions that are kernels themselves, with sizes read from the tensors of a call
(docs/language/index.md#eager-kernels).

The text is evaluated twice: up to the launch with sizes as symbols, which gives the shapes of the
parameters, and then as a whole with the numbers.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from types import FrameType
from typing import Any, NoReturn

from tile_frontend._evaluate.decorators import KernelEvaluator, tracing
from tile_frontend._evaluate.inner_macros import InnerMacro, defaults_of
from tile_frontend._evaluate.scope import MISSING, capture
from tile_frontend._language.allocation import TensorType
from tile_frontend._language.conversions import DTypeName
from tile_frontend._language.pointers import PointerType
from tile_frontend._tracing.source import find_function
from tile_frontend._tracing.trace import EagerHost, LaunchReached, Trace
from tile_frontend._tracing.values import Tile
from tile_ir import Buffer, Func, KernelError, LaunchSequence, TileError, Var
from tile_ir.quick_dataclasses import dataclass

# An annotation of a parameter, evaluated.
Declared = TensorType | DTypeName


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters as the host part of an eager function declares them: tensors and scalars of the
    kernel in the order of the signature, and the names of the constants in their shapes. `wrong` is
    the error of the first declaration that has one without numbers."""

    declared: Mapping[str, Declared]
    constants: tuple[str, ...]
    wrong: TileError | None = None

    def constants_of(self, tensors: Mapping[str, Any]) -> dict[str, int]:
        """The constants that the sizes of tensors give."""
        found: dict[str, int] = {}
        for name, declared in self.declared.items():
            tensor = tensors.get(name)
            if not isinstance(declared, TensorType) or tensor is None:
                continue
            told = [*zip(declared.shape, _sizes(declared, tensor), strict=False)]
            if declared.strides:
                told += zip(declared.strides, tensor.stride(), strict=False)
            for dim, number in told:
                if isinstance(dim, Var) and dim.name in self.constants:
                    found.setdefault(dim.name, int(number))
        return found


def _sizes(declared: TensorType, tensor: Any) -> tuple[int, ...]:
    """The shape of a tensor, which has two elements of four bits in a byte where it is one of
    bytes."""
    sizes = tuple(tensor.shape)
    if declared.dtype.bits != 4 or not str(tensor.dtype).endswith("int8") or not sizes:
        return sizes
    return (*sizes[:-1], 2 * sizes[-1])


@dataclass(frozen=True, slots=True)
class EagerKernel:
    """A traced eager function: the kernel, and which of its parameters are returned, in order;
    `single` where that is one tensor by itself."""

    func: Func | LaunchSequence
    outputs: tuple[int, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class EagerFunction:
    """A function that is a kernel itself, as `jit` finds it."""

    fn: Callable[..., Any]
    frame: FrameType | None = field(default=None, compare=False)

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.fn)

    def parameters(self, given: Mapping[str, Any]) -> Parameters:
        """The declared parameters, where the others have the values `given`."""
        host = EagerHost(None)
        with tracing(self.fn) as trace:
            trace.eager = host
            evaluator = self._evaluator(trace)
            with suppress(LaunchReached):
                evaluator.host(self.fn, given, keep_going=True)
        declared = {a.arg: evaluator.declared[a.arg] for a in evaluator.arguments
                    if a.arg in evaluator.declared}  # fmt: skip
        return Parameters(declared, tuple(host.names), evaluator.wrong)

    def traced(self, given: Mapping[str, Any], constants: Mapping[str, int]) -> EagerKernel:
        """The kernel for these values of parameters and constants. Raises KernelError."""
        host = EagerHost(dict(constants))
        with tracing(self.fn) as trace:
            trace.eager = host
            evaluator = self._evaluator(trace)
            returned = evaluator.host(self.fn, given, keep_going=False)
            func = evaluator.finished()
        params = list(func.params)
        outputs = tuple(params.index(tile.buffer) for tile in returned)
        return EagerKernel(func, outputs, not evaluator.returned_several)

    def _evaluator(self, trace: Trace) -> EagerEvaluator:
        source, function = find_function(self.fn)
        return EagerEvaluator(trace, source, capture(self.fn, self.frame), function)


def is_eager(fn: Callable[..., Any]) -> bool:
    """Whether the text of a function launches a kernel, and defines none that does."""
    try:
        _, function = find_function(fn)
    except (KernelError, AttributeError):
        return False
    inner = [n for s in function.body for n in ast.walk(s) if isinstance(n, ast.FunctionDef)]
    if any(_is_prim_func(d) for f in inner for d in f.decorator_list):
        return False
    return any(_called(n) in _OF_KERNELS for s in function.body for n in ast.walk(s))


_OF_KERNELS = ("Kernel", "const")


def _called(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return ""


def _bare(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _is_prim_func(decorator: ast.expr) -> bool:
    inner = _bare(decorator)
    return getattr(inner, "attr", getattr(inner, "id", "")) == "prim_func"


class EagerEvaluator(KernelEvaluator):
    """Evaluate an eager function: statements of the host, the launch, the returned tensors."""

    def __init__(self, trace: Trace, source: Any, captured: Any, node: ast.FunctionDef) -> None:
        super().__init__(trace, source, captured)
        self.node = node
        self.declared: dict[str, Declared] = {}
        self.buffers: dict[str, Buffer | Var] = {}
        self.wrong: TileError | None = None
        self.returned: list[Tile] | None = None
        self.returned_several = False
        given = node.args
        self.arguments = (*given.posonlyargs, *given.args, *given.kwonlyargs)

    def host(
        self, fn: Callable[..., Any], given: Mapping[str, Any], keep_going: bool
    ) -> list[Tile]:
        """Evaluate the text. With `keep_going`, skip statements that need numbers; declarations
        behind them still count. Raises LaunchReached at the launch, if only the host part is
        needed."""
        for arg in self.arguments:
            annotation = self._declared_in_signature(arg, fn)
            if annotation is not None:
                self._declare(arg, annotation)
            elif arg.arg in given:
                self.scope.bind(arg.arg, given[arg.arg], self.source.loc(arg))
        self.trace.in_signature = False
        for stmt in self.node.body:
            try:
                self.run([stmt])
            except KernelError as error:
                # No number makes a name known.
                if not keep_going or error.slug == "gpu-name":
                    raise
                if isinstance(stmt, ast.AnnAssign) and stmt.value is None:
                    self.wrong = self.wrong or error.with_sources(self.trace.sources)
        return self.returned or []

    def _declared_in_signature(self, arg: ast.arg, fn: Callable[..., Any]) -> Declared | None:
        value = fn.__annotations__.get(arg.arg)
        if isinstance(value, str) and not isinstance(value, DTypeName) and arg.annotation:
            value = self.evaluate(arg.annotation)
        if isinstance(value, PointerType):
            message = f"parameter `{arg.arg}` is a pointer, but sizes are read from tensors here"
            hint = "declare it: `A: T.Tensor(shape, dtype)`"
            self.fail("parameter-type", message, arg, hint)
        return value if isinstance(value, (TensorType, DTypeName)) else None

    def _declare(self, arg: ast.arg, declared: Declared) -> None:
        if isinstance(declared, TensorType):
            self._reserve_symbols(declared, self.node)
        self.declared[arg.arg] = declared
        self.buffers[arg.arg] = self._parameter(arg, declared)

    def _AnnAssign(self, stmt: ast.AnnAssign) -> None:
        target = stmt.target
        if stmt.value is not None or not isinstance(target, ast.Name):
            super()._AnnAssign(stmt)
            return
        declared = self.evaluate(stmt.annotation)
        arg = next((a for a in self.arguments if a.arg == target.id), None)
        if arg is None or not isinstance(declared, (TensorType, DTypeName)):
            super()._AnnAssign(stmt)
            return
        self._declare(arg, declared)

    def _FunctionDef(self, stmt: ast.FunctionDef) -> None:
        """A function of the text, under `T.macro` or not."""
        names = (getattr(d, "attr", getattr(d, "id", "")) for d in map(_bare, stmt.decorator_list))
        if any(name != "macro" for name in names):
            self.unsupported("a decorated function", stmt, "define it outside of the kernel")
        if stmt.args.vararg or stmt.args.kwarg:
            self.unsupported("a function of any number of values", stmt, "write out its parameters")
        defaults = {n: self.evaluate(d) for n, d in defaults_of(stmt.args).items()}
        made = InnerMacro(self.source, stmt, self.scope, defaults)
        self.scope.bind(stmt.name, made, self.source.loc(stmt))

    def _Compare(self, node: ast.Compare) -> Any:
        """`b is None` of a tensor whose shape is declared only where there is one."""
        match node:
            case ast.Compare(
                ast.Name() as name, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]
            ):
                if (
                    any(a.arg == name.id for a in self.arguments)
                    and self.scope.find_local(name.id) is MISSING
                ):
                    return isinstance(op, ast.IsNot)
        return super()._Compare(node)

    def _Return(self, stmt: ast.Return) -> None:
        if stmt.value is None and not self.scope.is_whole_function():
            super()._Return(stmt)
        value = None if stmt.value is None else self.evaluate(stmt.value)
        several = isinstance(value, (tuple, list))
        tiles = (
            list(value) if isinstance(value, (tuple, list)) else [] if value is None else [value]
        )
        made = self.trace.eager.outputs if self.trace.eager is not None else []
        for tile in tiles:
            if not isinstance(tile, Tile) or tile not in made:
                hint = "return tensors that T.empty made in this function"
                self.fail("not-an-output", "this is no output of the kernel", stmt, hint)
        if len(set(map(id, tiles))) != len(tiles) or len(tiles) != len(made):
            message = f"{len(made)} outputs are declared, {len(tiles)} returned"
            hint = "return every tensor that T.empty makes, each once"
            self.fail("not-an-output", message, stmt, hint)
        self.returned, self.returned_several = tiles, several

    def _unknown_name(self, node: ast.Name) -> NoReturn:
        if any(a.arg == node.id for a in self.arguments):
            hint = f"write `{node.id}: T.Tensor(shape, dtype)` above the launch"
            self.fail("parameter-type", f"the tensor `{node.id}` has no declared shape", node, hint)
        super()._unknown_name(node)

    def finished(self) -> Func | LaunchSequence:
        """The kernel, with its parameters in the order of the signature and the outputs behind."""
        host = self.trace.eager
        assert host is not None, "set before the text is evaluated"
        if host.outputs and self.returned is None:
            self._unreturned(host)
        params = [self.buffers[a.arg] for a in self.arguments if a.arg in self.buffers]
        self.trace.params = (*params, *(tile.buffer for tile in host.outputs))
        return self.finish(self.node)

    def _unreturned(self, host: EagerHost) -> NoReturn:
        message = f"`{host.outputs[0].name}` is made by T.empty, but not returned"
        raise KernelError(
            "not-an-output", message, host.outputs[0].loc, "return it at the end of the function"
        )


def eager_function(fn: Callable[..., Any]) -> EagerFunction | None:
    """The function under `jit` as an eager kernel, if it is one."""
    if not inspect.isfunction(fn) or not is_eager(fn):
        return None
    return EagerFunction(fn, _frame_around(fn))


def _frame_around(fn: Callable[..., Any]) -> FrameType | None:
    """The frame of the function around, whose names annotations use."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != fn.__code__.co_filename:
        frame = frame.f_back
    return frame
