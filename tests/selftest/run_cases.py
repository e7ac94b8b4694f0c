"""The cases of the self-test and what becomes of each: on the simulator against what the example
or the operation's meaning in NumPy expects, on an NPU against the simulator, with times of both."""

from __future__ import annotations

import contextlib
import fnmatch
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from selftest.agreement import difference
from selftest.example_calls import KernelCall, copies, run_example
from selftest.op_kernels import op_kernel
from tile_ir import BuildError, TileError, interpret, parse
from tile_ir.lazy import np
from tile_ir.switches import override
from tile_runtime.jit_kernels.jit_compile import compile
from tile_runtime.jit_kernels.profiler import do_bench
from tile_runtime.launcher.torch_dtypes import TORCH_DTYPES

# What follows this line in a golden file is not the kernel.
_EXPECTED = "# ---- expected\n"
_FOLDERS = (("examples", "*.py"), ("examples/developer", "*.py"), ("examples/torch", "*.py"))
_OPS = "tests/codegen/ops"
# The examples' own tool, which is no example.
_NO_EXAMPLE = frozenset({"report"})
# Milliseconds of measuring for a kernel.
_WARMUP, _REPEAT = 5, 30
# From the third on, calls are made as remembered.
_CALLS = 4


@dataclass(frozen=True, slots=True)
class CaseRow:
    """What became of a case, or of one kernel of it. `error` is in shares of what is allowed; times
    are in microseconds, of the model and of the device's events."""

    name: str
    verdict: str
    error: float | None = None
    modelled: float | None = None
    measured: float | None = None
    detail: str = ""

    @property
    def wrong(self) -> bool:
        return self.verdict in ("differs", "fails")


@dataclass(frozen=True, slots=True)
class Case:
    """An example (a script) or an operation (a golden)."""

    name: str
    file: Path


def find_cases(root: Path, pattern: str) -> list[Case]:
    """The cases in a checkout whose names fit a pattern, as `ops/add` and `examples/0*` do.

    Raises BuildError if the folder is no checkout, or nothing fits.
    """
    found = [
        Case(f"{folder}/{file.stem}", file)
        for folder, names in _FOLDERS
        for file in sorted((root / folder).glob(names))
        if file.stem not in _NO_EXAMPLE
    ]
    found += [Case(f"ops/{file.stem}", file) for file in sorted((root / _OPS).glob("*.tir"))]
    if not found:
        raise BuildError(
            "selftest-sources", f"{root} has no examples and no goldens of operations",
            hint="run it in a checkout of the sources, or name one: --sources FOLDER",
        )  # fmt: skip
    chosen = [case for case in found if fnmatch.fnmatch(case.name, pattern)]
    if not chosen:
        raise BuildError(
            "selftest-sources", f"no case fits {pattern!r}",
            hint=f"names are as {found[0].name} and {found[-1].name}",
        )  # fmt: skip
    return chosen


def run_cases(cases: Sequence[Case], on_npu: bool) -> Iterator[CaseRow]:
    """A row for each case, and on an NPU for each of its kernels."""
    for case in cases:
        run = _run_op if case.file.suffix == ".tir" else _run_script
        yield from run(case, on_npu)


def _run_script(case: Case, on_npu: bool) -> Iterator[CaseRow]:
    calls, problem = run_example(case.file)
    if problem is not None:
        yield CaseRow(case.name, "fails", detail=problem)
    elif not calls:
        yield CaseRow(case.name, "fails", detail="it calls no kernel")
    elif on_npu:
        for call in calls:
            yield _told(f"{case.name} {call.name}", lambda c=call: _on_npu(c))  # type: ignore[misc]
    else:
        kernels = f"{len(calls)} kernel{'s' * (len(calls) != 1)}"
        yield CaseRow(case.name, "ok", detail=f"{kernels}; compared by the script")


def _run_op(case: Case, on_npu: bool) -> Iterator[CaseRow]:
    func = parse(case.file.read_text().partition(_EXPECTED)[0], str(case.file))
    made = op_kernel(func)
    if isinstance(made, str):
        yield CaseRow(case.name, "not run", detail=made)
        return
    tensors = [_tensor(a, p) for a, p in zip(made.arrays, made.func.tensors, strict=True)]

    def run() -> CaseRow:
        with override(target="sim"):
            call = KernelCall("", compile(made.func), tuple(tensors))
            if on_npu:
                return _on_npu(call)
            _, found, _ = _run(call)
        wanted = [a.copy() for a in made.arrays]
        with np.errstate(all="ignore"):
            interpret(made.func, wanted)
        expected = [_tensor(a, p) for a, p in zip(wanted, made.func.tensors, strict=True)]
        return _compared(found, expected, "compared with NumPy" if expected else "has no result")

    yield _told(case.name, run)


def _told(name: str, run: Callable[[], CaseRow]) -> CaseRow:
    """The row of a run under its name; an error of it is a row as well."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # what kernels print
            row = run()
    except (TileError, RuntimeError) as error:
        return CaseRow(name, "fails", detail=f"{error}".partition("\n")[0])
    return CaseRow(name, row.verdict, row.error, row.modelled, row.measured, row.detail)


def _on_npu(call: KernelCall) -> CaseRow:
    """The call on the simulator and on the device: results and times. The device makes it several
    times, by Python and then as it is remembered, and from a graph."""
    with override(target="sim", time=True):
        modelled, wanted, _ = _run(call)
    rebuild, made_of = call.kernel.__reduce__()[:2]
    with override(target="npu"):
        kernel = rebuild(*made_of)
        on_device = KernelCall(call.name, kernel, call.inputs)
        runs = [_run(on_device)[1:] for _ in range(_CALLS)]
        ways = f"{_CALLS} calls"
        if hasattr(vars(torch)["npu"], "NPUGraph"):
            runs.append(_replayed(on_device))
            ways += " and a graph"
        how = f"{ways} compared with the simulator" if wanted else f"{ways}, without a result"
        row = max((_compared(found, wanted, how) for found, _ in runs), key=lambda r: r.error or 0)
        inputs = runs[0][1]
        measured = do_bench(lambda: kernel(*inputs), warmup=_WARMUP, rep=_REPEAT) * 1e3
    return CaseRow("", row.verdict, row.error, modelled, measured, row.detail)


def _run(call: KernelCall) -> tuple[float | None, list[torch.Tensor], tuple[Any, ...]]:
    """Microseconds of the model if it is on, all tensors a run leaves on the host, and the
    arguments on the device."""
    inputs = _on_device(call)
    made = call.kernel(*inputs)
    timeline = call.kernel.timeline()
    modelled = timeline.task_microseconds if timeline else None
    return modelled, _left(made, inputs), inputs


def _replayed(call: KernelCall) -> tuple[list[torch.Tensor], tuple[Any, ...]]:
    """The same of a call that is captured, which runs nothing, and then replayed once."""
    npu: Any = vars(torch)["npu"]
    inputs, graph = _on_device(call), npu.NPUGraph()
    npu.synchronize()
    with npu.graph(graph):
        made = call.kernel(*inputs)
    graph.replay()
    return _left(made, inputs), inputs


def _on_device(call: KernelCall) -> tuple[Any, ...]:
    device = call.kernel.device_type
    return tuple(x.to(device) if isinstance(x, torch.Tensor) else x for x in copies(call.inputs))


def _left(made: Any, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
    """Results and arguments on the host. RuntimeError for what the device met on the way."""
    npu = vars(torch).get("npu")
    if npu is not None:
        npu.synchronize()
    results = made if isinstance(made, list) else [made]
    return [x.cpu() for x in (*results, *inputs) if isinstance(x, torch.Tensor)]


def _compared(found: list[torch.Tensor], wanted: list[torch.Tensor], how: str) -> CaseRow:
    error = difference(found, wanted)
    return CaseRow("", "ok" if error <= 1 else "differs", error, detail=how)


def _tensor(array: Any, param: Any) -> torch.Tensor:
    """A tensor of the parameter's type over the bytes of an array."""
    kind = TORCH_DTYPES[param.dtype.name]
    return torch.from_numpy(array.copy().view(np.uint8).reshape(-1)).view(kind).view(array.shape)


__all__ = ["Case", "CaseRow", "find_cases", "run_cases"]
