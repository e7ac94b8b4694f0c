"""Kernels on this machine: compiled by the host compiler, run by the simulator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import torch

from tile_ir import Automatic, Buffer, BuildError, Diagnostic, Func, KernelError, Target, warn
from tile_ir.costs.links import A2_LINKS, LinkTable
from tile_ir.costs.timing import timing_of
from tile_ir.quick_dataclasses import replace
from tile_ir.switches import OVERRIDES, switch
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.devices.compile_host import FLAGS, find_compiler, host_command, run_compiler
from tile_runtime.devices.device import KernelFiles, KernelLaunch
from tile_runtime.devices.output_gaps import gap_hint, gap_text, read_hint
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound, watched_memory
from tile_runtime.launcher.call_plan import CallPlan
from tile_runtime.launcher.native import launcher
from tile_runtime.launcher.remember_call import Repeat, remember_call
from tile_runtime.launcher.signature import Signature, launcher_kinds
from tile_runtime.launcher.this_rank import THIS_RANK
from tile_runtime.simulator.build_simulator import include_directory
from tile_runtime.simulator.rank_times import RankTimes, machine_of, rank_times_from
from tile_runtime.simulator.simulation_error import (
    Fault,
    SimulationError,
    concerns_the_kernel,
    is_waste_of_blocks,
    simulation_error,
    simulation_warning,
)
from tile_runtime.simulator.timeline import Timeline, timeline_from

# The cores a schedule can starve, by the simulator's number.
STARVED = ("", "aic", "aiv0", "aiv1")
# Of switches, as `_apply` takes them.
_SETTINGS = ("check", "threads", "seed", "starve", "time", "timeout", "first", "delivery")


def _fault(error: Any) -> Fault:
    return Fault(
        error.kind, error.text, error.file, error.line, error.block, error.core, error.api,
        error.hint, error.rank,
    )  # fmt: skip


class SymmetricMemory(Protocol):
    """Memory that every simulated device has an instance of: `bytes` is the size of one."""

    @property
    def name(self) -> str: ...

    @property
    def bytes(self) -> int: ...

    @property
    def instances(self) -> Sequence[torch.Tensor]: ...


class SimulatorDevice:
    """The simulator in this process."""

    name = "simulator"
    device_type = "cpu"

    def identity(self) -> str:
        words = find_compiler()
        return " ".join([compiler_identity(words[0]), *words[1:], *FLAGS])

    def prepare(self) -> None:
        launcher()

    def compile(self, sources: Sequence[Path], output: Path, headers: Path, target: Target) -> None:
        includes = [include_directory(), headers]
        run_compiler(host_command(find_compiler(), sources, output, includes), sources[0].name)

    def load(
        self, files: KernelFiles, signature: Signature, func: Func, target: Target
    ) -> KernelLaunch:
        kinds = launcher_kinds(signature)
        names = [*(p.name for p in signature.params), *signature.symbols]
        try:
            kernel = launcher().Kernel(str(files.library), "tile_entry", kinds, names)
        except RuntimeError as error:
            raise BuildError("kernel-load", str(error)) from None
        return SimulatorLaunch(kernel, files.source, func, target)


class SimulatorLaunch:
    """Runs one loaded kernel; what it prints goes to standard output."""

    def __init__(self, kernel: Any, source: Path, func: Func, target: Target) -> None:
        self._kernel = kernel
        self._run = kernel.run
        self._set_options = kernel.set_options
        self._timeline = kernel.timeline
        self._unwritten = kernel.unwritten
        self._others = kernel.others
        self._told: set[tuple[str, str, int]] = set()
        self._source = source
        self._func = func
        self._target = target
        self._epoch: Any = None

    def on_stream(self, stream: Any) -> AbstractContextManager[Any]:
        """Every stream is idle: nothing changes."""
        return nullcontext()

    def __call__(self, call: Bound) -> None:
        """Run to the end. Raises SimulationError for the faults found, the first of them first."""
        rank = THIS_RANK.get()
        if rank is not None:
            rank.run(self, call)
            return
        self._configure()
        error, text = self._run(call.values, call.sizes, self._fresh(call))
        self._finish(call, error, text)

    def run_process(
        self, call: Bound, memory: Sequence[SymmetricMemory], process: tuple[int, ...]
    ) -> None:
        """Run a call as one rank of several whose others are processes of their own: `process` is
        what they share, as the launcher takes it. Raises SimulationError as above."""
        self.run_ranks([call], memory, process=process)

    def run_ranks(
        self,
        calls: Sequence[Bound],
        memory: Sequence[SymmetricMemory],
        links: LinkTable = A2_LINKS,
        process: tuple[int, ...] | None = None,
        earlier: Any = None,
    ) -> None:
        """Run one call on each of several simulated devices, all together, to the end of the last.
        Raises SimulationError as a call on one does. `links` connect them, on the time model.
        `earlier` is the WordHistory of the launcher for the launches on these devices."""
        self._configure()
        first, *others = calls
        symmetric = [(m.name, m.bytes, tuple(t.data_ptr() for t in m.instances)) for m in memory]
        values, fresh = [c.values for c in calls], [self._fresh(c) for c in calls]
        timing = timing_of(self._target, links=links) if switch("time") else None
        error, text = self._kernel.run_ranks(
            values, first.sizes, fresh, symmetric, timing, process, earlier
        )
        self._finish(first, error, text)
        for call in others:
            if set(self._fresh(call)).intersection(call.returned):
                self._look_for_gaps(call, strict=switch("check") == "strict")

    def remember(
        self, binder: ArgumentBinder, plan: CallPlan, arguments: tuple[Any, ...]
    ) -> Repeat | None:
        """Calls like one with these arguments, with the options of the latest run."""
        if THIS_RANK.get() is not None:
            return None
        self._configure()
        module, kernel, finish = launcher(), self._kernel, self._finish
        return remember_call(module, kernel, binder, plan, arguments, finish)

    def _fresh(self, call: Bound) -> tuple[int, ...]:
        """Positions of the memory whose writes are looked at."""
        if switch("check") == "off":
            return ()
        return watched_memory(self._func, call.allocated, call.returned)

    def _finish(self, call: Bound, error: Any, text: str) -> None:
        """Print the run's output, raise its errors, and print warnings of gaps in outputs."""
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
        if error is not None:
            self._raise([self._error(e, call) for e in (error, *self._others())])
        else:
            self._warn()
        if set(self._fresh(call)).intersection(call.returned):
            self._look_for_gaps(call, strict=switch("check") == "strict")

    def _raise(self, found: Sequence[SimulationError]) -> None:
        """Raise the first error with all others; wasted work alone gives a warning."""
        for_gpus = Automatic.CORES in self._func.automatic
        waste = [e for e in found if for_gpus and is_waste_of_blocks(e.fault)]
        errors = [e for e in found if e not in waste]
        if errors:
            raise errors[0].with_others(errors[1:])
        for error in waste:
            if self._is_new(error.fault):
                warn([replace(error.diagnostic, severity="warning")])

    def _is_new(self, fault: Fault) -> bool:
        """Whether no warning of the kernel has named the line yet; record it."""
        key = fault.kind, fault.file, fault.line
        if key in self._told:
            return False
        self._told.add(key)
        return True

    def _error(self, found: Any, call: Bound) -> SimulationError:
        fault = _fault(found)
        if fault.kind == "uninitialised-read":
            fault = replace(fault, hint=read_hint(fault, self._func, call) or fault.hint)
        return simulation_error(fault, self._source, self._func)

    def _look_for_gaps(self, call: Bound, strict: bool) -> None:
        """Report unwritten elements of outputs, which hold arbitrary values: an error at `strict`,
        else a warning, once for each kernel and output."""
        for position, tensor in zip(call.returned, call.outputs, strict=True):
            gap = self._unwritten(call.values[position], tensor.element_size())
            if gap[0] == 0:
                continue
            param = self._func.params[position]
            text = gap_text(param.name, tuple(tensor.shape), *gap)
            fault = Fault("output-not-written", text, "", 0, 0, "", "")
            loc = param.loc if isinstance(param, Buffer) else self._func.loc
            hint = gap_hint(self._func, call, position)
            error = SimulationError(fault, text, loc, hint, self._func.sources)
            if strict:
                raise error
            if (fault.kind, param.name, 0) not in self._told:
                self._told.add((fault.kind, param.name, 0))
                warn([replace(error.diagnostic, severity="warning")])

    def _warn(self) -> None:
        """Warn of actions of the run that work on a device but are waste or undocumented: once for
        each kernel and line."""
        for warning in self._others():
            fault = _fault(warning)
            if self._is_new(fault) and concerns_the_kernel(fault, self._source, self._func):
                warn([simulation_warning(fault, self._source, self._func)])

    def timeline(self) -> Timeline | None:
        """The modelled timeline of the latest run on this thread, if the switch `time` was on. That
        of a run over several ranks is of all their devices together."""
        found = self._timeline()
        if found is None:
            return None
        totals, strings, events, accesses, paddings = found
        timeline = timeline_from(totals, strings, events, accesses, paddings, self._target)
        return machine_of(timeline, len(self._kernel.rank_times()[0]))

    def rank_times(self) -> RankTimes | None:
        """The timeline of the latest run with the times of each rank and of their links."""
        timeline = self.timeline()
        if timeline is None:
            return None
        return rank_times_from(timeline, *self._kernel.rank_times())

    def warnings(self) -> list[tuple[int, Diagnostic]]:
        """The warnings of the latest run on this thread about the kernel, with their ranks; also
        those that an earlier run printed."""
        faults = [_fault(warning) for warning in self._others()]
        return [
            (fault.rank, simulation_warning(fault, self._source, self._func))
            for fault in faults
            if concerns_the_kernel(fault, self._source, self._func)
        ]

    def _configure(self) -> None:
        """Give the switches to the simulator, if one changed."""
        if self._epoch is None or not self._epoch.holds():
            epoch = launcher().Epoch([OVERRIDES])
            self._apply(*map(switch, _SETTINGS))
            self._epoch = epoch

    def _apply(
        self, check: str, threads: int, seed: int, starve: str, time: bool, timeout: int,
        first: bool, delivery: str,
    ) -> None:  # fmt: skip
        checks = getattr(launcher(), f"CHECKS_{check.upper()}", None)
        if checks is None:
            raise KernelError("check-level", f"this simulator has no check level {check!r}")
        self._set_options(
            checks=checks,
            threads=threads,
            seed=seed,
            starved=STARVED.index(starve),
            cube_cores=self._target.cube_cores,
            vector_cores=self._target.vector_cores,
            timing=timing_of(self._target) if time else None,
            timeout=timeout,
            first=first,
            delivery=getattr(launcher(), f"DELIVERY_{delivery.upper()}"),
        )
