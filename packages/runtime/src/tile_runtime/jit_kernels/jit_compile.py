"""`jit` and `compile`: from a function to a kernel object (docs/language/index.md#entry-points)."""

from __future__ import annotations

import functools
import inspect
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, overload

from tile_frontend._evaluate.eager import eager_function
from tile_ir import (
    TARGETS,
    Func,
    KernelError,
    LaunchSequence,
    Target,
    TileError,
)  # fmt: skip
from tile_ir.quick_dataclasses import dataclass, replace
from tile_ir.switches import switch
from tile_passes import PassOptions
from tile_runtime.jit_kernels.build import Job, build
from tile_runtime.jit_kernels.compile_options import (
    CompileOptions,
    Flags,
    Indices,
    device_of,
    resolve_target,
)
from tile_runtime.jit_kernels.dump_kernel import dump_kernel, print_timings
from tile_runtime.jit_kernels.eager_jit import EagerJit
from tile_runtime.jit_kernels.factory_calls import (
    Factory,
    memo_key,
    place_of,
    takes_tensors,
    told_at,
    whole_call,
)
from tile_runtime.jit_kernels.factory_members import compile_calls, members_of
from tile_runtime.jit_kernels.front_times import append_front_times
from tile_runtime.jit_kernels.host_arguments import report_arguments
from tile_runtime.jit_kernels.jit_factory import JitFactory
from tile_runtime.jit_kernels.kernel import JITKernel, printed
from tile_runtime.jit_kernels.kernel_name import call_name
from tile_runtime.jit_kernels.sequence_kernel import SequenceKernel
from tile_runtime.jit_kernels.watch_kernels import announce
from tile_runtime.launcher.signature import resolve_indices
from tile_runtime.options.code_generators import code_generator
from tile_runtime.options.pass_configs import pass_options

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class JITImplementation:
    """The implementation behind a jitted factory, its `__jit_impl__`: a call traces and compiles
    without the memo. Scripts read the arguments of `jit` from it, such as `target`."""

    func: Factory
    options: CompileOptions

    def __call__(self, *args: Any, **kwargs: Any) -> JITKernel:
        started = time.perf_counter()
        retrace = functools.partial(self.func, *args, **kwargs)
        func = retrace()
        with told_at(*place_of(self.func)):
            seconds = time.perf_counter() - started
            name = call_name(self.func, args, kwargs)
            return compile_func(func, self.options, seconds, retrace, name)

    def traced(self, *args: Any, **kwargs: Any) -> tuple[Any, CompileOptions]:
        """The traced kernel, and what it is compiled with."""
        return self.func(*args, **kwargs), self.options

    def with_pass_configs(self, configs: Mapping[Any, Any]) -> JITImplementation:
        """The same with further pass configs."""
        together = {**(self.options.pass_configs or {}), **configs}
        return replace(self, options=replace(self.options, pass_configs=together))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.options, name)


@overload
def jit(func: Callable[P, Any]) -> Callable[P, JITKernel]: ...


@overload
def jit(
    func: None = None,
    *,
    out_idx: Indices = None,
    workspace_idx: Indices = None,
    target: str = "auto",
    target_host: str | None = None,
    platform: str = "auto",
    execution_backend: str = "cython",
    verbose: bool = False,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | os.PathLike[str] | None = None,
    compile_flags: Flags = None,
    run_mode: str | None = None,
) -> Callable[[Callable[P, Any]], Callable[P, JITKernel]]: ...


@report_arguments
def jit(
    func: Factory | None = None,
    *,
    out_idx: Indices = None,
    workspace_idx: Indices = None,
    target: str = "auto",
    target_host: str | None = None,
    platform: str = "auto",
    execution_backend: str = "cython",
    verbose: bool = False,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | os.PathLike[str] | None = None,
    compile_flags: Flags = None,
    run_mode: str | None = None,
) -> Any:
    """Make a function that returns a prim_func return its compiled kernel.

    The kernel is built when the factory is called, once per arguments, which must be hashable.
    The host target is always this machine. `run_mode` "sim" is the simulator, "npu" the device if
    there is one; `compile_flags` are further options of the device compiler.
    """
    options = CompileOptions(
        out_idx, workspace_idx, target, platform, execution_backend, verbose, pass_configs,
        debug_root_path, compile_flags, run_mode,
    )  # fmt: skip
    return _decorate(func, options) if func is not None else lambda f: _decorate(f, options)


@report_arguments
def compile(
    prim_func: Func | LaunchSequence,
    out_idx: Indices = None,
    execution_backend: str = "cython",
    target: str = "auto",
    target_host: str | None = None,
    platform: str = "auto",
    verbose: bool = False,
    pass_configs: Mapping[Any, Any] | None = None,
    workspace_idx: Indices = None,
    compile_flags: Flags = None,
    run_mode: str | None = None,
) -> JITKernel:
    """The kernel object of a finished prim_func.

    Raises KernelError for a mistake in the kernel or the arguments, BuildError from compilers.
    """
    options = CompileOptions(
        out_idx, workspace_idx, target, platform, execution_backend, verbose, pass_configs,
        compile_flags=compile_flags, run_mode=run_mode,
    )  # fmt: skip
    try:
        return compile_func(prim_func, options)
    except TileError as error:
        # The frames of the compiler mean nothing to the author of the kernel.
        raise error.with_traceback(None) from None


def par_compile(
    funcs: Iterable[Func], *arguments: Any, num_workers: int | None = None,
    ignore_error: bool = False, **named: Any,
) -> list[JITKernel | None]:  # fmt: skip
    """The kernels of several prim_funcs, one after another; with `ignore_error` None for one that
    does not compile."""
    made = functools.partial(compile, **named)
    return compile_calls(made, ((f, *arguments) for f in funcs), num_workers, ignore_error)


def compile_func(
    prim_func: Func | LaunchSequence,
    options: CompileOptions,
    trace_seconds: float = 0.0,
    retrace: Callable[[], Any] | None = None,
    name: str = "",
) -> JITKernel:
    """`compile` with its arguments in one value, and what the kernel object keeps of tracing;
    without a `name` the kernel has that of its function."""
    if isinstance(prim_func, LaunchSequence):
        kernel: JITKernel = _sequence_kernel(prim_func, options, name)
    else:
        kernel = _kernel(order_of(prim_func, options, name), options, trace_seconds, retrace)
    if options.verbose:
        print_timings(kernel)
    if options.debug_root_path is not None:
        dump_kernel(kernel, Path(options.debug_root_path))
    return kernel


def _sequence_kernel(sequence: LaunchSequence, options: CompileOptions, name: str) -> JITKernel:
    """The kernel of several launches, each compiled by itself. The tensors between them, like the
    workspaces, are made by each call."""
    outputs, workspaces = indices_of(sequence, options)
    bare = replace(options, out_idx=None, workspace_idx=None)
    names = [f"{name} launch {n}" if name else "" for n in range(1, len(sequence.funcs) + 1)]
    launches = [
        _kernel(order_of(func, bare, of_launch), bare)
        for func, of_launch in zip(sequence.funcs, names, strict=True)
    ]
    made = range(sequence.declared, len(sequence.funcs[0].params))
    rebuild = functools.partial(compile_sequence, _again(options))
    kernel = SequenceKernel(sequence, launches, outputs, (*workspaces, *made), rebuild, name)
    announce(kernel)
    return kernel


def compile_sequence(
    options: CompileOptions,
    name: str,
    declared: int,
    printed_launches: Sequence[tuple[Any, ...]],
    outputs: tuple[int, ...],
    workspaces: tuple[int, ...],
) -> JITKernel:
    """The kernel of several printed functions: what a pickled one of several launches is."""
    launches = [compile_printed(options, *made_of) for made_of in printed_launches]
    sequence = LaunchSequence(name, tuple(k.prim_func for k in launches), declared)
    rebuild = functools.partial(compile_sequence, options)
    return SequenceKernel(sequence, launches, outputs, workspaces, rebuild)


@dataclass(frozen=True, slots=True)
class CompileOrder:
    """A function and the arguments of `compile`, checked and resolved before the build. `outputs`
    and `workspaces` are positions of parameters, never negative."""

    job: Job
    outputs: tuple[int, ...]
    workspaces: tuple[int, ...]

    def printed(self, options: CompileOptions) -> Callable[[], JITKernel]:
        """Return a function that makes the kernel, here or in another process: it pickles."""
        return functools.partial(compile_printed, _again(options), *self.made_of)

    @property
    def made_of(self) -> tuple[Any, ...]:
        """See `printed`."""
        job = self.job
        return printed(job.func, job.target, job.options, self.outputs, self.workspaces)


def order_of(prim_func: Func, options: CompileOptions, name: str = "") -> CompileOrder:
    """KernelError for what is no kernel and for arguments that do not fit it."""
    if not isinstance(prim_func, Func):
        raise KernelError(
            "not-a-prim-func",
            f"expected a prim_func, found {_called(prim_func)}",
            hint=_missing(prim_func),
        )
    outputs, workspaces = indices_of(prim_func, options)
    with told_at(prim_func.loc, prim_func.sources):
        passes = pass_options(options.pass_configs)
        job = _job(prim_func, resolve_target(options), passes, options, name)
    return CompileOrder(job, outputs, workspaces)


def indices_of(
    prim_func: Func | LaunchSequence, options: CompileOptions
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of outputs and of workspaces. KernelError where they do not fit the function."""
    count = len(prim_func.params)
    outputs = resolve_indices(options.out_idx, count, "out_idx", prim_func)
    workspaces = resolve_indices(options.workspace_idx, count, "workspace_idx", prim_func)
    both = sorted(set(outputs) & set(workspaces))
    if both:
        raise KernelError(
            "out-index",
            f"parameter {both[0]} of `{prim_func.name}` is in out_idx and in workspace_idx",
            prim_func.loc,
            sources=prim_func.sources,
        )
    return outputs, workspaces


def compile_printed(
    options: CompileOptions,
    text: str,
    sources: Mapping[str, str],
    chip: str,
    passes: PassOptions,
    outputs: tuple[int, ...],
    workspaces: tuple[int, ...],
) -> JITKernel:
    """The kernel of a printed function, for a chip by its name: what a pickled kernel is."""
    from tile_ir import parse

    func = replace(parse(text, "<a pickled kernel>"), sources=sources)
    order = CompileOrder(_job(func, TARGETS[chip], passes, options), outputs, workspaces)
    return _kernel(order, options)


def _job(
    func: Func, target: Target, passes: PassOptions, options: CompileOptions, name: str = ""
) -> Job:
    device = device_of(options)
    generator = code_generator(options.target, func.loc)
    return Job(func, target, passes, device, generator, name or func.name)


def _kernel(
    order: CompileOrder,
    options: CompileOptions,
    trace_seconds: float = 0.0,
    retrace: Callable[[], Func] | None = None,
) -> JITKernel:
    job = order.job
    built = build(job)
    if switch("timings"):
        append_front_times(
            Path(switch("timings")), job.func, job.target, job.options, job.generator, retrace
        )
    rebuild = functools.partial(compile_printed, _again(options))
    kernel = JITKernel(
        job.func, job.target, job.generator, built, order.outputs, order.workspaces,
        job.device.device_type, replace(built.timings, trace=trace_seconds), rebuild, retrace,
        job.options, job.name,
    )  # fmt: skip
    announce(kernel)
    return kernel


def _again(options: CompileOptions) -> CompileOptions:
    """Return the options that a printed kernel does not contain."""
    return CompileOptions(
        target=options.target, compile_flags=options.compile_flags, run_mode=options.run_mode
    )


def _called(found: object) -> str:
    name = getattr(found, "__name__", None)
    kind = "factory" if isinstance(found, JitFactory) else type(found).__name__
    return f"the {kind} `{name}`" if name is not None else kind


def _missing(found: object) -> str:
    """Return the hint for a factory that returns no prim_func."""
    if isinstance(found, (JitFactory, EagerJit)):
        return f"it is under jit, which compiles: write {found.__name__}(...)"
    if inspect.isfunction(found):
        return f"write @T.prim_func above `def {found.__name__}`"
    if found is None:
        return "the factory returns nothing: end it with `return` and the function it defines"
    return "a factory ends with `return` and the function under @T.prim_func"


def _decorate(factory: Factory, options: CompileOptions) -> Factory:
    if isinstance(factory, (Func, LaunchSequence)):
        raise KernelError(
            "jit-prim-func",
            f"`{factory.name}` is a prim_func; jit decorates the function that returns it",
            factory.loc,
            "remove jit and call compile(prim_func, ...), or wrap the prim_func in a function",
            sources=factory.sources,
        )
    if not callable(factory):
        raise KernelError(
            "jit-factory", f"jit decorates a function, found {type(factory).__name__}"
        )
    eager = eager_function(factory)
    if eager is not None:
        return EagerJit(eager, options, compile_func)
    if takes_tensors(factory):
        with told_at(*place_of(factory)):
            raise KernelError(
                "jit-prim-func",
                f"{_called(factory)} has the parameters of a kernel; jit decorates the function "
                "that returns one",
                hint="write @T.prim_func instead of jit and call compile(...), or put it into a "
                "function that returns it",
            )
    kernels: dict[Any, JITKernel] = {}
    impl = JITImplementation(factory, options)

    def made(*args: Any, **kwargs: Any) -> JITKernel:
        try:
            with told_at(*place_of(factory)):
                key = memo_key(factory, args, kwargs)
                if key not in kernels:
                    whole = memo_key(factory, *whole_call(factory, args, kwargs))
            if key not in kernels:
                if whole not in kernels:
                    kernels[whole] = impl(*args, **kwargs)
                kernels[key] = kernels[whole]
            return kernels[key]
        except TileError as error:
            raise error.with_traceback(None) from None  # as in `compile`

    members = {**members_of(factory, options, made), "__jit_impl__": impl, "compile": made}
    return JitFactory(factory, made, members)
