"""What a test runs on several ranks: an example with its arguments, on the simulator or by the
interpreter, and examples with a change in their text."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from types import ModuleType
from typing import Any

import example_kernels
import numpy as np
import torch
from kept_cases import kept_number

from tile_ir import DEFAULT_TARGET, Buffer, Func, interpret_ranks
from tile_ir.expr import constant_value
from tile_ir.switches import override
from tile_passes import PassOptions, run_pipeline
from tile_runtime import Ranks, SimulationError
from tile_runtime.options.pass_configs import PassConfigKey, pass_options

FOLDER = example_kernels.EXAMPLES / "distributed"
DELIVERIES = ("prompt", "late")
SEEDS = 50
# What the examples leave to the compiler.
ORDERED_CONFIGS = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
ORDERED = pass_options(ORDERED_CONFIGS).automatic
# Elements from a word of `T.Signals` to the next.
APART = 16
_NUMBERS = count()


@dataclass(frozen=True)
class OfRank:
    """An argument that no other rank reaches, stacked by rank."""

    values: np.ndarray


@dataclass(frozen=True)
class OfRanks:
    """An argument in symmetric memory, stacked by rank."""

    values: np.ndarray


# The argument that counts calls.
STEP = object()


def words(ranks: int, n: int) -> OfRanks:
    return OfRanks(np.zeros((ranks, n, APART), np.int32))


def zeros(ranks: int, *shape: int, dtype: type = np.float32) -> OfRanks:
    return OfRanks(np.zeros((ranks, *shape), dtype))


def space(ranks: int, *shape: int, dtype: type = np.float32) -> OfRank:
    return OfRank(np.zeros((ranks, *shape), dtype))


@dataclass(frozen=True)
class RankCase:
    """One kernel of an example. `expected` has, by the number of an argument, what all ranks have
    there at the end, stacked; `bound` is how far sums may be from it. `rounds` are the steps of
    one call, and the kernel is called twice. `seen` is the part of an argument that is looked at."""

    script: str
    function: str
    parameters: tuple[Any, ...]
    ranks: int
    arguments: tuple[Any, ...]
    expected: dict[int, np.ndarray]
    bound: float = 0.0
    rounds: int = 1
    seen: Callable[[np.ndarray], np.ndarray] = np.asarray

    def kernel(self, module: ModuleType) -> Any:
        return getattr(module, self.function)(*self.parameters)

    def func(self, module: ModuleType) -> Func:
        """The kernel, traced and not compiled."""
        func: Func = getattr(module, self.function).__wrapped__(*self.parameters)
        return func

    def check(self, found: Sequence[Any]) -> None:
        for number, expected in self.expected.items():
            got, want = (self.seen(a).astype(np.float64) for a in (found[number], expected))
            np.testing.assert_allclose(got, want, rtol=0, atol=self.bound)


def load(script: str, folder: Path, *edits: tuple[str, str]) -> ModuleType:
    """An example as a module, after changes of its text, each of which changes something; a changed
    one is written to a folder."""
    file = FOLDER / f"{script}.py"
    name = f"{script}_{next(_NUMBERS)}"
    if edits:
        text = file.read_text()
        for old, new in edits:
            assert old in text, f"{script} has no {old!r}"
            text = text.replace(old, new)
        file = folder / f"{name}.py"
        file.write_text(text)
    if str(example_kernels.EXAMPLES) not in sys.path:
        sys.path.insert(0, str(example_kernels.EXAMPLES))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def schedules(seeds: int = SEEDS) -> Iterator[tuple[int, str]]:
    """Seeds and deliveries: of many seeds `make test` keeps a few."""
    return product(range(kept_number(seeds)), DELIVERIES)


def simulate(case: RankCase, kernel: Any, seed: int, delivery: str, calls: int = 2) -> list[Any]:
    """All arguments, stacked by rank, after so many calls at `strict`."""
    with override(check="strict", delivery=delivery), Ranks(case.ranks, seed=seed) as world:
        given = [tensors(world, a) for a in case.arguments]
        for call in range(calls):
            step = 1 + call * case.rounds
            world.launch(kernel, *(step if a is STEP else a for a in given))
    return [_stacked(a) for a in given]


def tensors(world: Ranks, argument: Any) -> Any:
    """An argument as a launch takes it."""
    match argument:
        case OfRank(values=values):
            return [torch.from_numpy(v.copy()) for v in values]
        case OfRanks(values=values):
            return world.of(torch.from_numpy(values))
    return argument


def _stacked(argument: Any) -> Any:
    if argument is STEP or isinstance(argument, (int, float)):
        return argument
    return np.stack([t.numpy() for t in argument])


def lowered(func: Func) -> tuple[Func, Func]:
    """The kernel as one text for all cores of a block, and with the order between them."""
    seen: dict[str, Func] = {}
    options = PassOptions(
        automatic=ORDERED, after_each=lambda p, f, changed: seen.update({p.name: f})
    )
    run_pipeline(func, DEFAULT_TARGET, options)
    return seen["merge_streams"], seen["remove_dead"]


def interpret_case(case: RankCase, func: Func, in_text_order: bool, calls: int = 2) -> list[Any]:
    """All arguments, stacked by rank, after the interpreter has run the kernel so often."""
    arrays = [a.values.copy() if isinstance(a, (OfRank, OfRanks)) else a for a in case.arguments]
    arrays += [_workspace(p, case.ranks) for p in func.params[len(arrays) :]]
    for call in range(calls):
        step = 1 + call * case.rounds
        by_rank = [[_of_rank(a, rank, step) for a in arrays] for rank in range(case.ranks)]
        interpret_ranks(func, by_rank, in_text_order=in_text_order)
    return arrays


def _workspace(param: Any, ranks: int) -> np.ndarray:
    """What the compiler has added behind the parameters."""
    assert isinstance(param, Buffer)
    shape = [constant_value(d) for d in param.shape]
    return np.zeros((ranks, *shape), param.dtype.name)


def _of_rank(argument: Any, rank: int, step: int) -> Any:
    if argument is STEP:
        return step
    return argument[rank] if isinstance(argument, np.ndarray) else argument


def fault(
    case: RankCase, kernel: Any, seed: int, delivery: str, calls: int = 2
) -> SimulationError | None:
    """What the simulator reports first, if anything."""
    try:
        simulate(case, kernel, seed, delivery, calls)
    except SimulationError as error:
        return error
    return None
