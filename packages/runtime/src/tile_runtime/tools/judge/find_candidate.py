"""Execute a candidate in this process and find the kernel that it means, with its arguments."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tile_ir import Func, KernelError, LaunchSequence, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.jit_kernels.compile_options import CompileOptions
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.kernel_name import call_name
from tile_runtime.tools.judge.printed_kernel import (
    PrintedKernel,
    no_kernel,
    print_kernel,
    print_traced,
)
from tile_runtime.tools.judge.request import REFERENCES
from tile_runtime.tools.language_server.factory_sizes import calls_of

Traced = tuple[Any, PrintedKernel]


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """The kernel that is judged: `trace` gives the traced function and its text for arguments by
    name; `arguments` are those of the first case, None for a kernel that takes none."""

    name: str
    trace: Callable[[Mapping[str, Any]], Traced]
    arguments: dict[str, Any]
    is_factory: bool


def execute(path: Path, text: str) -> dict[str, Any]:
    """Execute a text as the module of a file; the names it has, up to the first kernel that runs.

    Raises whatever the text raises, but for the end of the program.
    """
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    except KernelError as error:
        if error.slug != "not-run":
            raise
    except SystemExit:
        pass
    return vars(module)


def find_candidate(
    path: Path, text: str, values: Mapping[str, Any], name: str, arguments: Mapping[str, Any]
) -> FoundKernel:
    """The kernel of that name, or the only one of the file. KernelError if there is none."""
    if not name:
        name = _only_kernel(path, values)
    if name not in values:
        raise KernelError(
            "no-such-kernel", f"{path.name} has no `{name}`", hint=did_you_mean(name, values)
        )
    value = values[name]
    if _is_kernel(value):
        if arguments:
            raise KernelError("kernel-arguments", f"`{name}` is no factory and takes no arguments")
        return FoundKernel(name, lambda given: _of_result(value, name), {}, False)
    if not callable(value):
        raise no_kernel(name, value)
    impl = getattr(value, "__jit_impl__", value)
    function = inspect.unwrap(getattr(value, "func", getattr(impl, "func", value)))
    signature = getattr(value, "signature", None) or inspect.signature(function)
    if getattr(value, "mode", None) == "eager":
        found = _first_sizes(name, impl, signature, text, values, arguments)
    else:
        found = _first_arguments(name, signature, text, values, arguments)
    if hasattr(impl, "traced"):
        return FoundKernel(name, lambda given: _of_jit(impl, function, given), found, True)
    return FoundKernel(
        name, lambda given: _of_result(value(**given), name, value, given), found, True
    )


def _only_kernel(path: Path, values: Mapping[str, Any]) -> str:
    """The name of the only kernel or jitted factory of this file."""
    names = [n for n, v in values.items() if _is_kernel(v) or _is_jitted_in(v, path)]
    if len(names) == 1:
        return names[0]
    functions = [n for n, v in values.items() if inspect.isfunction(v) and n not in REFERENCES]
    hint = f"name one: {path.name}:{(names or functions or ['kernel'])[0]}"
    what = f"{len(names)} kernels" if names else "no kernel, and no function under @T.jit"
    raise KernelError("no-such-kernel", f"{path.name} has {what}", hint=hint)


def _is_kernel(value: Any) -> bool:
    return isinstance(value, (Func, LaunchSequence, JITKernel))


def _is_jitted_in(value: Any, path: Path) -> bool:
    if not (hasattr(value, "__jit_impl__") or getattr(value, "mode", None) == "eager"):
        return False
    code = getattr(inspect.unwrap(getattr(value, "func", value)), "__code__", None)
    return code is not None and code.co_filename == str(path)


def _first_arguments(
    name: str,
    signature: inspect.Signature,
    text: str,
    values: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Those that are given, before those of a call in the text, before defaults. KernelError names
    what is missing."""
    for positional, named in (*calls_of(name, text, values), ([], {})):
        try:
            bound = signature.bind_partial(*positional, **named)
        except TypeError:
            continue
        found = {**_default_numbers(signature), **bound.arguments, **given}
        try:
            signature.bind(**found)
        except TypeError:
            continue
        return found
    required = [
        p.name
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    missing = [n for n in required if n not in given]
    raise KernelError(
        "kernel-arguments",
        f"`{name}` needs arguments: {', '.join(missing) or 'others'}",
        hint=f"-a {(missing or ['N'])[0]}=..., or a line `# tile-ascend: {name}(...)` in the file",
    )


def _first_sizes(
    name: str,
    impl: Any,
    signature: inspect.Signature,
    text: str,
    values: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """The same for an eager kernel, of which a call in the text has sizes by name, or tensors that
    are left out here. The kernel reports missing arguments."""
    known = {**_default_numbers(signature), **given}
    for positional, named in calls_of(name, text, values):
        found = {**known, **dict(zip(signature.parameters, positional, strict=False)), **named}
        found |= given
        try:
            impl.traced(**found)
        except KernelError:
            continue
        return found
    return known


def _default_numbers(signature: inspect.Signature) -> dict[str, int]:
    """The integers that parameters have where a call leaves them out: they may be sizes."""
    parameters = signature.parameters.values()
    return {p.name: p.default for p in parameters if type(p.default) is int}


def _of_jit(impl: Any, function: Any, given: Mapping[str, Any]) -> Traced:
    traced, options = impl.traced(**given)
    name = call_name(function, (), dict(given))
    if isinstance(traced, JITKernel):
        return traced.prim_func, print_kernel(traced)
    if not isinstance(traced, (Func, LaunchSequence)):
        raise _no_result(function.__name__, traced)
    return traced, print_traced(traced, options, name)


def _of_result(
    value: Any, name: str, factory: Any = None, given: Mapping[str, Any] | None = None
) -> Traced:
    if isinstance(value, JITKernel):
        return value.prim_func, print_kernel(value)
    if isinstance(value, (Func, LaunchSequence)):
        called = call_name(factory, (), dict(given or {})) if factory is not None else name
        return value, print_traced(value, CompileOptions(), called)
    raise _no_result(name, value)


def _no_result(name: str, value: Any) -> KernelError:
    """The error for a factory that hands out no kernel; a tensor was computed by something else."""
    if hasattr(value, "data_ptr"):
        return KernelError(
            "result-without-kernel",
            f"`{name}` returns a tensor that no kernel has computed",
            hint="return the function under @T.prim_func",
        )
    return no_kernel(name, value)
