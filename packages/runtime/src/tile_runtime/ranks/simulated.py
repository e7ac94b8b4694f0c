"""Simulated devices of this process that run one kernel together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import torch

from tile_ir import CallError, Diagnostic, TileError
from tile_ir.costs.links import TOPOLOGIES, LinkTable
from tile_ir.switches import override
from tile_runtime.devices.simulator_device import SimulatorLaunch
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher import native
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
from tile_runtime.launcher.kept_words import KeptWords
from tile_runtime.launcher.run_watchers import RECORDERS
from tile_runtime.ranks.result import RankRun, findings_of, result_of
from tile_runtime.ranks.symmetric_tensor import WORDS_APART, SymmetricTensor
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.simulation_error import SimulationError

MOST_RANKS = 64


@dataclass(eq=False)
class Ranks:
    """`count` devices, each with memories, cores and caches of its own.

    `with Ranks(4) as world:` makes tensors that every rank has an instance of (`empty`, `zeros`,
    `signals`) and launches kernels on all of them at once (`launch`). `seed` decides the order in
    which ranks, blocks and cores get their turns, and when what a rank stores to another arrives;
    what is wrong with a kernel is found whatever it is.

    `topology` says how the devices are connected, for the modelled time: "a2" (a link for each
    pair), "a3", "ring" or "two-servers". `result` has the findings of the latest launch; with the
    switch `time` on, it is a `TimedRankRun`: with the times of ranks and links.
    """

    count: int
    seed: int | None = None
    topology: str = "a2"
    result: RankRun | None = field(default=None, repr=False)
    _made: list[SymmetricTensor] = field(default_factory=list)
    _kept: dict[KeptWords, KeptWords] = field(default_factory=dict, repr=False)
    _earlier: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or not 0 < self.count <= MOST_RANKS:
            message = f"Ranks({self.count!r}): expected a number of devices from 1 to {MOST_RANKS}"
            raise CallError("ranks", message)
        if self.topology not in TOPOLOGIES:
            message = f"Ranks(topology={self.topology!r}): expected one of {', '.join(TOPOLOGIES)}"
            raise CallError("ranks", message)

    def __enter__(self) -> Ranks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._made.clear()
        self._kept.clear()
        self._earlier = None

    @property
    def times(self) -> RankTimes | None:
        """Those of the latest launch that ended well, if the switch `time` was on."""
        return self.result if isinstance(self.result, RankTimes) else None

    def empty(self, shape: int | Sequence[int], dtype: torch.dtype) -> SymmetricTensor:
        """A symmetric tensor that holds nothing in particular."""
        return self._new(shape, lambda sizes: torch.empty(sizes, dtype=dtype))

    def zeros(self, shape: int | Sequence[int], dtype: torch.dtype) -> SymmetricTensor:
        """A symmetric tensor of zeros."""
        return self._new(shape, lambda sizes: torch.zeros(sizes, dtype=dtype))

    def of(self, values: torch.Tensor) -> SymmetricTensor:
        """A symmetric tensor of these values, stacked by rank."""
        if values.shape[0] != self.count:
            message = (
                f"Ranks.of: dimension 0 is {values.shape[0]}, but there are {self.count} ranks"
            )
            hint = "stack what each rank has: torch.stack([...]), a tensor for each rank"
            raise CallError("ranks", message, hint=hint)
        return self.empty(values.shape[1:], values.dtype).fill(values)

    def signals(self, n: int) -> SymmetricTensor:
        """Words for a parameter `T.Signals(n)`, all 0."""
        return self.zeros((n, WORDS_APART), torch.int32)

    def _new(self, shape: int | Sequence[int], make: Any) -> SymmetricTensor:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        name = f"symmetric_{len(self._made)}"
        made = SymmetricTensor(name, tuple(make(sizes) for _ in range(self.count)))
        self._made.append(made)
        return made

    def launch(self, kernel: JITKernel, *arguments: Any) -> list[Any]:
        """Run a kernel on all ranks and wait for the last; what it returns on each.

        A symmetric tensor gives each rank its instance, a list of as many entries as there are
        ranks one of these each, and anything else is the same for all. Raises what a call of the
        kernel raises, and CallError for a tensor that all ranks write."""
        names = kernel.binder.names
        for number, argument in enumerate(arguments):
            self._check(names[number] if number < len(names) else f"{number}", argument)
        given = [tuple(_of_rank(a, rank) for a in arguments) for rank in range(self.count)]
        self._check_shared(kernel.binder, given)
        launcher = kernel.launcher
        if not isinstance(launcher, SimulatorLaunch):
            message = f"Ranks are simulated devices, but `{kernel.prim_func.name}` is for an NPU"
            raise CallError("ranks", message, hint="start a process for each device: torchrun")
        bound = [self._bound(kernel.binder, each, rank) for rank, each in enumerate(given)]
        calls = self._with_kept(kernel, bound)
        with nullcontext() if self.seed is None else override(seed=self.seed):
            links = TOPOLOGIES[self.topology]
            try:
                named = self._named(kernel.binder, arguments)
                self.result = self._run(launcher, calls, named, links)
            except (TileError, KeyboardInterrupt):
                for kept in self._kept.values():
                    kept.begin_anew()
                raise
        for recorded in RECORDERS.get():
            recorded(kernel, calls[0], given[0])
        outputs = [call.outputs for call in calls]
        return [each[0] for each in outputs] if len(kernel.out_idx) == 1 else outputs

    def _with_kept(self, kernel: JITKernel, calls: Sequence[Bound]) -> Sequence[Bound]:
        """Return the calls with the memory that the kernel keeps between them, as long as these
        ranks last."""
        kept = self._kept.setdefault(kernel.kept, kernel.kept.on_ranks(self.zeros))
        return kept.next_calls(calls) if kept else calls

    def _run(
        self,
        launcher: SimulatorLaunch,
        calls: Sequence[Bound],
        memory: Sequence[SymmetricTensor],
        links: LinkTable,
    ) -> RankRun:
        if self._earlier is None:
            self._earlier = native.launcher().WordHistory()
        try:
            launcher.run_ranks(calls, memory, links, earlier=self._earlier)
        except SimulationError as error:
            self.result = result_of(self.count, findings_of(error))
            raise
        return result_of(self.count, launcher.warnings(), launcher.rank_times())

    def _named(self, binder: ArgumentBinder, arguments: Sequence[Any]) -> list[SymmetricTensor]:
        """The symmetric tensors, those of a call by the names of its parameters."""
        names = {id(a): n for a, n in zip(arguments, binder.names, strict=False)}
        return [replace(made, name=names.get(id(made), made.name)) for made in self._made]

    def barrier(self) -> None:
        """Wait for what has been launched on all ranks: each launch from now on is ordered after
        it. Without a barrier, the launches of one rank are ordered, and those of two are not."""
        if self._earlier is not None:
            self._earlier.forget()

    def _check(self, name: str, argument: Any) -> None:
        """Raise CallError unless an argument of a launch has one for each rank, or is for all."""
        match argument:
            case SymmetricTensor(instances=instances):
                if argument not in self._made:
                    message = f"`{name}` is a symmetric tensor of {len(instances)} other ranks"
                    hint = "make it with the Ranks that launches the kernel: world.empty, zeros, of"
                    raise CallError("ranks", message, hint=hint)
            case list() | tuple() if len(argument) != self.count:
                message = f"`{name}` is a list of {len(argument)}, but there are {self.count} ranks"
                hint = f"give a list of {self.count}, one for each rank, or one tensor for all"
                raise CallError("ranks", message, hint=hint)

    def _bound(self, binder: ArgumentBinder, given: tuple[Any, ...], rank: int) -> Bound:
        try:
            return binder.bind(given)
        except CallError as error:
            if self.count == 1:
                raise
            note = Diagnostic("", f"this is what rank {rank} gets", severity="note")
            raise error.with_notes([note]) from None

    def _check_shared(self, binder: ArgumentBinder, given: Sequence[tuple[Any, ...]]) -> None:
        if self.count == 1:
            return
        for position in binder.written:
            found = [each[position] for each in given if position < len(each)]
            places = {t.data_ptr() for t in found if isinstance(t, torch.Tensor)}
            if 0 < len(places) < self.count:
                name = binder.names[position]
                message = f"`{name}` is written by all ranks, and is one tensor"
                hint = "give each rank its own: a list, or a tensor of Ranks.empty"
                raise CallError("ranks", message, hint=hint)


def _of_rank(argument: Any, rank: int) -> Any:
    each = isinstance(argument, (SymmetricTensor, list, tuple))
    return argument[rank] if each else argument
