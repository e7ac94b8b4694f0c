"""Measure kernels over sizes on the time model: `T.perf_report` and `tile-ascend bench --vary`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tile_ir import CallError, Func, KernelError, LaunchSequence, TileError, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import override
from tile_runtime.jit_kernels.compile_options import CompileOptions
from tile_runtime.jit_kernels.jit_compile import compile_func
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.kernel_name import call_name
from tile_runtime.jit_kernels.tensor_supply import supply_arguments
from tile_runtime.tools.report.perf_table import PerfPoint, PerfReport
from tile_runtime.tools.report.roofline import roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs

# The tensors of a call by the arguments of the factory.
Inputs: TypeAlias = "Callable[..., Sequence[Any]]"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A kernel to measure: its name in the table, the arguments that its factory declares, and what
    makes the kernel of some of them. One that is `open` takes others too."""

    name: str
    declared: frozenset[str]
    make: Callable[[Mapping[str, Any]], JITKernel]
    open: bool = False

    def takes(self, name: str) -> bool:
        """Whether the factory takes an argument."""
        return self.open or name in self.declared


def perf_report(
    kernels: Any,
    x_names: str | Sequence[str],
    x_vals: Iterable[Any],
    args: Mapping[str, Any] | None = None,
    line_names: Sequence[str] | None = None,
    inputs: Inputs | None = None,
    plot_name: str = "",
) -> PerfReport:
    """Measure kernels over sizes on the time model, and return a table that draws itself.

    `kernels` is a factory, several, or a dictionary of them by the names of their curves, which
    `line_names` gives too. Each value of `x_vals` goes to all of `x_names`, a tuple to one each;
    `args` are further arguments. A factory takes those that it declares; a size that it does not
    declare is a symbolic one of its kernel. `inputs` returns the tensors of a call by the arguments
    of the factory; without it they are small random numbers, and integers that are places or
    lengths stay within their tensors.

    A kernel that does not compile or run at a size has the reason in its row. CallError for what
    can not be varied, and the first reason where no kernel runs at any size.
    """
    found = _contestants(kernels, line_names)
    names = (x_names,) if isinstance(x_names, str) else tuple(x_names)
    sizes = [_size(names, value) for value in x_vals]
    return measure(found, sizes, dict(args or {}), inputs=inputs, title=plot_name)


def measure(
    kernels: Sequence[Contestant],
    sizes: Sequence[Mapping[str, Any]],
    args: Mapping[str, Any],
    inputs: Inputs | None = None,
    title: str = "",
    seen: Callable[[PerfPoint], None] = lambda point: None,
) -> PerfReport:
    """Measure each kernel at each size; `seen` is called with every point."""
    if not kernels or not sizes:
        raise CallError("kernel-arguments", "nothing to measure: name a kernel and a size")
    for name in args:
        if not any(kernel.takes(name) for kernel in kernels):
            known = sorted(set().union(*(kernel.declared for kernel in kernels)))
            raise CallError(
                "kernel-arguments", f"no kernel has an argument {name!r}",
                hint=did_you_mean(name, known) or f"one of {', '.join(known)}",
            )  # fmt: skip
    points: list[PerfPoint] = []
    errors: list[TileError] = []
    for size in sizes:
        for kernel in kernels:
            try:
                point = _point(kernel, size, args, inputs)
            except TileError as error:
                errors.append(error)
                point = PerfPoint(kernel.name, size, problem=f"{error.slug}: {error.message}")
            points.append(point)
            seen(point)
    if len(errors) == len(points):
        raise errors[0]
    names = tuple(sizes[0])
    return PerfReport(names, tuple(k.name for k in kernels), tuple(points), title)


def contestant(name: str, factory: Any) -> Contestant:
    """Return a factory as `measure` takes it. CallError for what is none."""
    if not callable(factory) or isinstance(factory, (JITKernel, Func)):
        raise CallError(
            "kernel-arguments",
            f"{name} is of type {type(factory).__name__}, whose sizes are fixed",
            hint="pass the function that returns the kernel",
        )
    signature = inspect.signature(getattr(factory, "func", factory))
    eager = getattr(factory, "mode", None) == "eager"

    def make(arguments: Mapping[str, Any]) -> JITKernel:
        found = (factory.compile if eager else factory)(**arguments)
        if isinstance(found, (Func, LaunchSequence)):
            called = call_name(factory, (), arguments)
            return compile_func(found, CompileOptions(), name=called)
        if not isinstance(found, JITKernel):
            raise CallError(
                "kernel-arguments", f"{name} returned a {type(found).__name__}, expected a kernel"
            )
        return found

    parameters = signature.parameters.values()
    named = frozenset(p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
    # The sizes of an eager kernel are those of its tensors.
    return Contestant(name, named, make, eager or len(named) < len(parameters))


def _contestants(kernels: Any, line_names: Sequence[str] | None) -> list[Contestant]:
    if isinstance(kernels, Mapping):
        return [contestant(str(name), factory) for name, factory in kernels.items()]
    several = list(kernels) if isinstance(kernels, (list, tuple)) else [kernels]
    names = [*(line_names or (getattr(k, "__name__", "kernel") for k in several))]
    if len(names) != len(several):
        raise CallError("kernel-arguments", f"{len(names)} line_names for {len(several)} kernels")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CallError(
            "kernel-arguments",
            f"two kernels are called {twice!r}",
            hint="pass a dictionary of them by other names, or line_names",
        )
    return [contestant(name, k) for name, k in zip(names, several, strict=True)]


def _size(names: Sequence[str], value: Any) -> dict[str, Any]:
    """One value for all names, or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(names)
    if len(values) != len(names):
        raise CallError(
            "kernel-arguments",
            f"the size {value!r} has {len(values)} values for {', '.join(names)}",
            hint=f"give {len(names)} values, or one for all",
        )
    return dict(zip(names, values, strict=True))


def _point(
    kernel: Contestant, size: Mapping[str, Any], args: Mapping[str, Any], inputs: Inputs | None
) -> PerfPoint:
    wanted = {name: value for name, value in {**args, **size}.items() if kernel.takes(name)}
    symbols = {name: value for name, value in size.items() if not kernel.takes(name)}
    made = kernel.make(wanted)
    if inputs is None:
        tensors = supply_arguments(made, {}, symbols)
    else:
        tensors = list(inputs(**args, **size))
    runs: list[TimedRun] = []
    with override(time=True), watch_timed_runs(runs.append):
        made(*tensors)
    if not runs:
        raise KernelError(
            "no-timed-run", f"`{made.name}` did not run on the simulator, which has the clock"
        )
    return _point_of(kernel.name, size, runs)


def _point_of(name: str, size: Mapping[str, Any], runs: Sequence[TimedRun]) -> PerfPoint:
    """Of the launches of a call, one after the other."""
    roofs = [roofline(run) for run in runs]
    seconds = sum(roof.seconds for roof in roofs)
    least = {part: sum(roof.least[part] for roof in roofs) for part in roofs[0].least}
    bound = max(least, key=lambda part: least[part])
    per_second = 1 / seconds if seconds else 0.0
    return PerfPoint(
        name, size,
        sum(run.timeline.microseconds for run in runs),
        sum(run.timeline.task_microseconds for run in runs),
        sum(roof.operations for roof in roofs) * per_second,
        sum(roof.bytes for roof in roofs) * per_second,
        least[bound] * per_second,
        bound,
    )  # fmt: skip
