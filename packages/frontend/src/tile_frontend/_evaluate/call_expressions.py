"""Evaluate calls, and place whatever they raise at the argument to blame."""

from __future__ import annotations

import ast
import inspect
from typing import Any, NoReturn

from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._dialects.foreign_names import element_here, reduced_here, written_here
from tile_frontend._dialects.triton_names import argument_of_triton
from tile_frontend._evaluate.scope import Scope
from tile_frontend._evaluate.static_iteration import (
    ComprehensionEvaluator,
    constant_range,
    static_items,
)
from tile_frontend._language.loops import Loop
from tile_frontend._language.scalar_functions import maximum, minimum
from tile_frontend._tracing.faults import PACKAGE, Fault, placed
from tile_frontend._tracing.scalars import Scalar, describe
from tile_frontend._tracing.source import display_name
from tile_frontend._tracing.values import Pending, Tile, View
from tile_ir import ExprError, Func, KernelError, LaunchSequence, Loc, LoopKind, did_you_mean


class Expandable:
    """A macro, as far as a call needs to know."""

    hygienic: bool

    def expand(self, args: Any, kwargs: dict[str, Any], caller: Scope | None) -> Any:
        raise NotImplementedError


class CallEvaluator(ComprehensionEvaluator):
    """Evaluates the calls of one function's text."""

    def _Call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        args = self.elements(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(self._python_keywords(keyword.value, kwargs))
            else:
                kwargs[keyword.arg] = self.evaluate(keyword.value)
        return self.call(node, function, args, kwargs)

    def _python_keywords(self, node: ast.expr, given: dict[str, Any]) -> dict[str, Any]:
        value = self.evaluate(node)
        if not isinstance(value, dict):
            hint = "pass a dict with names as keys"
            self.fail("unsupported-syntax", f"`**` does not take {describe(value)}", node, hint)
        twice = next((name for name in value if name in given), None)
        if twice is not None:
            hint = "leave one of them out"
            self.fail("arity", f"`{twice}` is given twice", node, hint)
        return value

    def call(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call something native. Every exception becomes an error of the kernel at this call: the
        function may be the user's, so it can raise any."""
        trace = self.trace
        outer, trace.here = trace.here, self.source.loc(node)
        before = len(trace.pending)
        if function is print:
            self._host_function(node, function, args, kwargs)
        try:
            result = self.invoke(function, args, kwargs)
            if not _is_ours(function) and not _has_operation(result):
                # What a helper called and did not hand back is done where the helper is called.
                for pending in trace.pending[before:]:
                    trace.emit_pending(pending)
            return result
        except Fault as fault:
            self._host_function(node, function, args, kwargs)
            if fault.slug == "not-a-scalar" and any(isinstance(a, (Tile, View)) for a in args):
                there = written_here(str(getattr(function, "__name__", "")))
                fault = Fault(fault.slug, fault.message, there or fault.hint, fault.argument)
            self._place(fault, self._argument_loc(node, function, fault.argument))
        except KernelError as error:
            if error.loc is not None:
                raise
            raise placed(error, trace.here) from None
        except ExprError as error:
            self.fail(error.slug, str(error), node, error.hint)
        except Exception as error:
            self._native_error(node, function, error, args, kwargs)
        finally:
            trace.here = outer

    def invoke(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, (Func, LaunchSequence)):
            message = f"`{function.name}` is a prim_func: it is a kernel of its own"
            hint = "write @T.macro above it to use it in other kernels, without its T.Kernel"
            raise KernelError("call-prim-func", message, hint=hint)
        if not _is_ours(function) and not isinstance(function, Expandable):
            args = [self._python_range(function, a, i) for i, a in enumerate(args)]
            kwargs = {n: self._python_range(function, a, n) for n, a in kwargs.items()}
        if isinstance(function, Expandable) and not function.hygienic:
            return function.expand(args, kwargs, self.scope)
        # Python's own would ask at once which one is larger.
        if (function is max or function is min) and not kwargs:
            values = static_items(args[0]) if len(args) == 1 else args
            if values is not None and any(isinstance(v, Scalar) for v in values):
                function = maximum if function is max else minimum
                return function(*values) if len(values) > 1 else values[0]
            args = args if len(args) != 1 or values is None else [values]
        return function(*args, **kwargs)

    def _python_range(self, function: Any, value: Any, argument: str | int) -> Any:
        """A `range` of known size as Python's own, for functions that run while the kernel is
        traced; they can not see a loop of the kernel."""
        if not isinstance(value, Loop):
            return value
        numbers = constant_range(value) if value.kind is LoopKind.SERIAL else None
        if numbers is not None:
            return numbers
        if not _of_the_host(function):
            return value
        name = getattr(function, "__name__", "the function")
        message = f"`{name}` {_ON_THE_HOST} a loop of the kernel"
        hint = "loop with `for i in ...:` alone, and compute from `i` what is needed beside it; "
        raise Fault("host-function", message, hint + "a range of known size may be given", argument)

    def _argument_loc(self, node: ast.Call, function: Any, argument: str | int | None) -> Loc:
        """Where the argument a fault names stands in the call, else the call."""
        if argument is None or not (_is_ours(function) or isinstance(argument, int)):
            return self.source.loc(node)
        for keyword in node.keywords:
            if keyword.arg == argument:
                # The name is to blame when it is unknown, else the value.
                known = argument in _parameters(function)
                return self.source.loc(keyword.value if known else keyword)
        position = argument
        if isinstance(argument, str):
            names = _parameters(function)
            position = names.index(argument) if argument in names else -1
        assert isinstance(position, int)
        if 0 <= position < len(node.args):
            return self.source.loc(node.args[position])
        return self.source.loc(node)

    def _host_function(
        self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        """Raise an error if a function of Python or of a library of the host, which has failed, got
        values that only the device has."""
        if _is_ours(function) or not callable(function) or not _of_the_host(function):
            return
        given = [*args, *kwargs.values()]
        given += [v for a in given if isinstance(a, (list, tuple)) for v in a]
        tile = next((v for v in given if isinstance(v, (Tile, View))), None)
        scalar = next((v for v in given if isinstance(v, Scalar)), None)
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        if tile is not None:
            hint = (reduced_here if len(given) == 1 else written_here)(last)
        elif scalar is not None:
            hint = element_here(last, ", ".join(map(ast.unparse, node.args)))
        else:
            return
        if hint is None and scalar is not None:
            return  # the error itself says more
        message = f"`{name}` {_ON_THE_HOST} {describe(scalar if tile is None else tile)}"
        self.fail("host-function", message, node, hint or "compute on tiles with T.tile operations")

    def _native_error(
        self, node: ast.Call, function: Any, error: Exception, args: list[Any],
        kwargs: dict[str, Any],
    ) -> NoReturn:  # fmt: skip
        name = ast.unparse(node.func)
        self._host_function(node, function, args, kwargs)
        if not callable(function):
            message = f"`{name}` is {describe(function)}, not a function"
            self.fail("not-callable", message, node, "remove the parentheses")
        for keyword in node.keywords if _is_ours(function) else ():
            names = _parameters(function)
            if keyword.arg is not None and keyword.arg not in names:
                message = f"{name} has no argument `{keyword.arg}`"
                hint = argument_of_triton(name.rpartition(".")[2], keyword.arg)
                hint = hint or did_you_mean(keyword.arg, names) or f"it takes {', '.join(names)}"
                self.fail("unknown-argument", message, keyword, hint)
        mismatch = _signature_problem(function, args, kwargs)
        if mismatch is not None:
            takes = f"it takes {', '.join(_parameters(function))}" if _is_ours(function) else None
            self.fail("arity", f"`{name}`: {mismatch}", node, takes)
        where = _user_line(error)
        if where is None or _is_ours(function):
            self.fail("python-error", f"`{name}`: {type(error).__name__}: {error}", node)
        message = f"`{name}` raised {type(error).__name__}: {error}"
        hint = f"it was raised at {where}"
        raise KernelError("python-error", message, self.source.loc(node), hint) from error


_ON_THE_HOST = "runs on the host while the kernel is traced: it does not take"
# Libraries whose functions compute at once, also where they are written in Python.
_HOST_LIBRARIES = ("torch", "numpy", "math", "cmath", "scipy", "builtins", "statistics")


def _of_the_host(function: Any) -> bool:
    library = str(getattr(function, "__module__", None) or "").partition(".")[0]
    return library in _HOST_LIBRARIES or not hasattr(inspect.unwrap(function), "__code__")


def _has_operation(result: Any) -> bool:
    """Whether the caller is handed an operation to emit."""
    match result:
        case Pending():
            return True
        case tuple() | list():
            return any(map(_has_operation, result))
        case dict():
            return any(map(_has_operation, result.values()))
    return False


def _is_ours(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return isinstance(function, OpFunction) or module.startswith(PACKAGE)


def _parameters(function: Any) -> list[str]:
    if isinstance(function, OpFunction):
        return list(function.parameters)
    found = inspect.signature(function).parameters.values()
    return [p.name for p in found if p.kind is not p.VAR_POSITIONAL]


def _signature_problem(function: Any, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """Why a function cannot be called with these arguments, if that is so."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return None


def _user_line(error: Exception) -> str | None:
    """The innermost line of the user's own code an exception passed through."""
    where, step = None, error.__traceback__
    while step is not None:
        module = step.tb_frame.f_globals.get("__name__", "")
        if not module.startswith((PACKAGE, "tile_ir")):
            where = f"{display_name(step.tb_frame.f_code.co_filename)}:{step.tb_lineno}"
        step = step.tb_next
    return where
