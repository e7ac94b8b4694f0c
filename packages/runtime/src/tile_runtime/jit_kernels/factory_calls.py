"""Check the arguments of a factory, identify calls that make the same kernel, and place errors in
arguments."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

from tile_frontend._language.allocation import TensorType
from tile_frontend._tracing.scalars import Scalar
from tile_frontend._tracing.source import display_name
from tile_ir import KernelError, Loc
from tile_ir.switches import switch
from tile_runtime.launcher.scalar_arguments import is_array

# An annotation that was not evaluated.
_TENSOR = re.compile(r"\bT\.Tensor\s*[(\[]")
Factory: TypeAlias = Callable[..., Any]
# Switches that decide what a factory's kernel is; a memoised kernel holds under their values only.
_MEMO_SWITCHES = (
    "soc",
    "target",
    "auto_sync",
    "memory_planning",
    "cv_combine",
    "cv_sync",
    "skip",
    "stop_after",
    "dump_ir",
    "debug",
    "cache_dir",
)


class UnhashableArgument(KernelError, TypeError):
    """A call is handed a value that no kernel can be remembered by. It is a TypeError too, which is
    what scripts written for tilelang catch."""


def whole_call(
    factory: Factory, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments in one form for all ways to write a call: by position, with defaults. Raises
    KernelError for those that the factory does not take: Python's own error would name a frame of
    this file."""
    try:
        parameters = inspect.signature(factory)
    except ValueError:  # of a function that is none of Python's
        return args, kwargs
    try:
        bound = parameters.bind(*args, **kwargs)
    except TypeError as error:
        raise unbound(factory, parameters, error) from None
    if not all(_hashable(p.default) for p in parameters.parameters.values()):
        return args, kwargs
    bound.apply_defaults()
    return bound.args, bound.kwargs


def unbound(factory: Factory, parameters: inspect.Signature, error: TypeError) -> KernelError:
    """Report arguments that a function does not take, by the words of Python's own error."""
    name = getattr(factory, "__name__", "the factory")
    plain = [p.replace(annotation=p.empty) for p in parameters.parameters.values()]
    declared = f"it is declared as {name}({', '.join(map(str, plain))})"
    return KernelError("jit-argument", f"call of `{name}`: {error}", hint=declared)


def memo_key(factory: Factory, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Equal for calls that make the same kernel. 1, 1.0 and True are equal but not the same."""
    named = sorted(kwargs.items())
    key = (
        tuple(map(_compared, args)),
        tuple((name, _compared(value)) for name, value in named),
        tuple(switch(name) for name in _MEMO_SWITCHES),
    )
    try:
        hash(key)
    except TypeError:
        name = getattr(factory, "__name__", "the factory")
        culprits = [*enumerate(args, 1), *named]
        where, value = next((w, v) for w, v in culprits if not _hashable(v))
        raise UnhashableArgument(
            "jit-argument",
            f"argument {where} of `{name}` is a {type(value).__name__}, which can not be hashed",
            hint="a factory takes sizes, and the kernel that it returns takes tensors"
            if is_array(value)
            else "kernels are remembered by their arguments: pass a tuple, a number or a string",
        ) from None
    return key


def _compared(value: object) -> tuple[type, object]:
    """The key that equal values share. `==` of runtime values gives one more: they are compared as
    the expressions that they are."""
    if isinstance(value, Scalar):
        return Scalar, value.expr
    if isinstance(value, tuple):
        return type(value), tuple(map(_compared, value))
    return type(value), value


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@contextmanager
def told_at(loc: Loc | None, sources: Mapping[str, str]) -> Iterator[None]:
    """Give errors without a place the place of the function that the arguments are for."""
    try:
        yield
    except KernelError as error:
        if error.loc is not None or loc is None:
            raise
        kind = UnhashableArgument if isinstance(error, UnhashableArgument) else KernelError
        raise kind(error.slug, error.message, loc, error.hint, sources=sources) from None


def place_of(factory: Factory) -> tuple[Loc | None, Mapping[str, str]]:
    """Where a factory is defined, and the text of its file."""
    code = getattr(inspect.unwrap(factory), "__code__", None)
    if code is None:
        return None, {}
    lines = linecache.getlines(code.co_filename)
    line = code.co_firstlineno
    text = lines[line - 1] if line <= len(lines) else ""
    loc = Loc(display_name(code.co_filename), line, len(text) - len(text.lstrip()) + 1)
    return loc, {loc.file: "".join(lines)}


def refuse_grid(name: str) -> NoReturn:
    """Report a call in the form of Triton, `kernel[grid](...)`."""
    message = f"`{name}[...]`: a kernel is called without a grid"
    hint = f"write {name}(...); T.Kernel(blocks) in the kernel says how many blocks it launches"
    raise KernelError("call-grid", message, hint=hint)


def takes_tensors(factory: Factory) -> bool:
    """Whether the parameters are annotated as tensors: a kernel that lacks its @T.prim_func."""
    annotations = getattr(factory, "__annotations__", {}).values()
    return any(
        isinstance(a, TensorType) or (isinstance(a, str) and _TENSOR.search(a)) for a in annotations
    )
