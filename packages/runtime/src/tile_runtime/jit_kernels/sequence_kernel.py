"""The kernel object of a function with several launches: one kernel for each, run in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, NoReturn, cast

from tile_ir import Func, LaunchSequence, written_tensors
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.jit_kernels.build import Built, Timings
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
from tile_runtime.launcher.call_plan import CallPlan, used_parameters
from tile_runtime.launcher.remember_call import Repeat
from tile_runtime.launcher.signature import Param, Signature


@dataclass(frozen=True, slots=True)
class LaunchPart:
    """A launch of a sequence: its kernel, where its own workspaces stand among the arguments of the
    whole, and which parameters it is the first to touch, and the only one to write."""

    kernel: JITKernel
    workspaces: range
    first: frozenset[int]
    alone: frozenset[int]

    def of(self, call: Bound, declared: int, count: int) -> Bound:
        """The arguments of this launch; `count` is how many parameters the whole has."""
        mine = slice(self.workspaces.start, self.workspaces.stop)
        made = range(declared, declared + len(self.workspaces))
        outputs = dict(zip(call.returned, call.outputs, strict=True))
        judged = {i: t for i, t in outputs.items() if i in self.first & self.alone}
        return Bound(
            (*call.values[:declared], *call.values[mine], *call.values[count:]),
            (*call.sizes[:declared], *call.sizes[mine], *call.sizes[count:]),
            call.device,
            call.keep,
            list(judged.values()),
            (*(i for i in call.allocated if i < declared and i in self.first), *made),
            tuple(judged),
        )


@dataclass(frozen=True, slots=True)
class SequenceLaunch:
    """Runs the launches of a sequence on one stream."""

    parts: tuple[LaunchPart, ...]
    declared: int
    count: int

    def bound(self, call: Bound) -> list[tuple[JITKernel, Bound]]:
        """The launches of a call, each with its arguments."""
        return [(p.kernel, p.of(call, self.declared, self.count)) for p in self.parts]

    def __call__(self, call: Bound) -> None:
        for kernel, part in self.bound(call):
            kernel.launch_again(part)

    def on_stream(self, stream: Any) -> AbstractContextManager[Any]:
        """The streams of all launches are the same."""
        return self.parts[0].kernel.launcher.on_stream(stream)

    def remember(
        self, binder: ArgumentBinder, plan: CallPlan, arguments: tuple[Any, ...]
    ) -> Repeat | None:
        """Nothing does several launches at once."""
        return None


class SequenceKernel(JITKernel):
    """A kernel of several launches: a call runs them in order, each of which sees the writes of
    those before it. `launches` are their kernels, which take all parameters and the tensors between
    them; observers of runs see each. `prim_func` is a `LaunchSequence`."""

    def __init__(
        self,
        sequence: LaunchSequence,
        launches: Sequence[JITKernel],
        out_idx: tuple[int, ...],
        workspace_idx: tuple[int, ...],
        rebuild: Callable[..., JITKernel],
        name: str = "",
    ) -> None:
        self.launches = tuple(launches)
        self.sequence = sequence
        declared = len(sequence.funcs[0].params)
        built, launch = _joined(sequence, self.launches, declared)
        self._sequence_launch = launch
        first = self.launches[0]
        super().__init__(
            sequence.joined, first.target, first.generator, built, out_idx, workspace_idx,
            first.device_type, built.timings, rebuild, None, first.passes, name or sequence.name,
        )  # fmt: skip
        # What asks it for the text of one launch is told that there are several.
        self.prim_func = cast(Func, sequence)

    def run_bound(self, call: Bound, inputs: tuple[Any, ...]) -> None:
        """Run each launch, and report each to the observers of runs."""
        for kernel, part in self._sequence_launch.bound(call):
            kernel.run_bound(part, inputs)

    def _prove(self) -> None:
        """Each launch is proven by itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        """As of other kernels, of each launch."""
        parts = [k.__reduce__()[1] for k in self.launches]
        name, declared = self.sequence.name, self.sequence.declared
        made_of = name, declared, parts, tuple(self.out_idx), tuple(self.workspace_idx)
        return self._rebuild, made_of, self._kept_in_pickles()

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The emitted sources, one behind the other."""
        return "\n".join(k.get_kernel_source() for k in self.launches)

    def get_host_source(self) -> str:
        """The sources that unpack arguments, one behind the other."""
        return "\n".join(k.get_host_source() for k in self.launches)

    def explain_memory(self) -> str:
        """As of other kernels, launch by launch."""
        return "\n".join(k.explain_memory() for k in self.launches)

    def explain_sync(self) -> str:
        """As of other kernels, launch by launch."""
        return "\n".join(k.explain_sync() for k in self.launches)

    @property
    def loop_schedules(self) -> tuple[Any, ...]:
        """Those of all launches."""
        return tuple(s for k in self.launches for s in k.loop_schedules)

    @property
    def lowered(self) -> NoReturn:
        """There is one for each launch."""
        raise self.sequence.one_by_one("the lowered function")

    @property
    def libpath(self) -> str:
        """There is one for each launch."""
        raise self.sequence.one_by_one("the shared object")

    @property
    def srcpath(self) -> str:
        """There is one for each launch."""
        raise self.sequence.one_by_one("the file of the source")

    def __repr__(self) -> str:
        count = len(self.launches)
        return f"<kernel {self.name} of {count} launches for {self.target.name}>"


def _written(func: Func) -> set[int]:
    """Those of them that it writes."""
    found = written_tensors(func)
    return {i for i, p in enumerate(func.params) if p in found}


def _joined(
    sequence: LaunchSequence, launches: tuple[JITKernel, ...], declared: int
) -> tuple[Built, SequenceLaunch]:
    """Join the launches into one build and one launch: the workspaces of all launches stand behind
    the parameters."""
    params: list[Param] = launches[0].parameters[:declared]
    parts: list[LaunchPart] = []
    touched: set[int] = set()
    writes = [_written(func) for func in sequence.funcs]
    for number, (kernel, func) in enumerate(zip(launches, sequence.funcs, strict=True)):
        own = kernel.parameters[declared:]
        places = range(len(params), len(params) + len(own))
        params += [replace(p, name=f"{p.name}_{number + 1}") for p in own]
        others = set().union(*(w for n, w in enumerate(writes) if n != number))
        unused = set(range(declared)) - set().union(*map(used_parameters, sequence.funcs))
        mine = used_parameters(func) | (unused if number == len(launches) - 1 else set())
        parts.append(
            LaunchPart(
                kernel, places, frozenset(mine - touched), frozenset(range(declared)) - others
            )
        )
        touched |= mine
    symbols = tuple(s.name for s in sequence.symbols)
    signature = Signature(sequence.name, tuple(params), symbols, declared)
    launch = SequenceLaunch(tuple(parts), declared, len(params))
    times = [k.timings for k in launches]
    sums = {f.name: sum(getattr(t, f.name) for t in times) for f in fields(Timings)}
    timings = replace(Timings(**sums), cached=all(t.cached for t in times))
    remarks = tuple(r for k in launches for r in k.remarks)
    return Built(launches[0].files, signature, launch, timings, None, None, remarks, True), launch
