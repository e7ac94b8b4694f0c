"""Runs final IR with several sets of arguments at once: a set has blocks of one launch."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.machine.assemble import TENSORS, assemble
from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_ir import Buffer, Func
from tile_ir.nodes import Stmt
from tile_ir.traversal import walk
from tile_runtime.launcher.native import launcher, simulator_library
from tile_runtime.simulator import build_simulator as builder

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Outcome:
    """What a run left: per set of arguments its arrays, the simulator's error or None (its line is
    the number of a statement), and the number of a statement that may set a flag which is still
    up when pipes run at other speeds, or 0. `traces` has the flags and barriers of each core, but for
    cores that have too many."""

    arrays: list[list[Any]]
    error: Any
    early_set: int
    traces: list[list[tuple[int, int, int, int]]]


def statement_numbers(func: Func) -> dict[Stmt, int]:
    """Statements in textual order, from 1."""
    return {stmt: i for i, stmt in enumerate(walk(func.launch.body), 1)}


def run(
    func: Func,
    sets: Sequence[Sequence[Any]],
    *,
    checks: int | None = None,
    trace: int = 0,
    seed: int = 0,
    starved: int = 0,
) -> Outcome:
    """Run a SYNCED function on copies of the arguments, at `strict` unless said otherwise. `trace`
    is how many flags and barriers of a core are kept; `seed` and `starved` say which core of a block
    goes on when several can."""
    program = assemble(func, statement_numbers(func))
    tensors = [i for i, p in enumerate(func.params) if isinstance(p, Buffer)]
    scalars = [i for i, p in enumerate(func.params) if not isinstance(p, Buffer)]
    # Every set's share starts at a cache line of its own: grid races are looked for by bytes.
    stacked = [_stacked([s[i] for s in sets]) for i in tensors]
    words = program.words([[s[i] for i in scalars] for s in sets], [t.strides[0] for t in stacked])
    blocks = len(sets) * program.blocks
    report = np.zeros((blocks, 3, 2 + 4 * trace), np.int64)
    empty = np.zeros(8, np.uint8)
    gm = [*stacked, *([empty] * (TENSORS - len(stacked)))]
    kernel = _machine("one_lane" if func.launch.threads == 1 else "two_lanes")
    level = launcher().CHECKS_STRICT if checks is None else checks
    kernel.set_options(checks=level, threads=1, seed=seed, starved=starved)
    values = (words.ctypes.data, report.ctypes.data, 4 * trace, blocks)
    sizes = (words.nbytes, report.nbytes, 0, 0)
    error, _ = kernel.run(
        (*values, *(a.ctypes.data for a in gm)), (*sizes, *(a.nbytes for a in gm))
    )
    arrays = []
    for number, given in enumerate(sets):
        own: list[Any] = list(given)
        for i, stack in zip(tensors, stacked, strict=True):
            flat = stack[number].view(given[i].dtype)[: given[i].size]
            own[i] = flat.reshape(given[i].shape)
        arrays.append(own)
    early = next((int(e) for e in report[:, :, 0].flat if e), 0)
    traces = [
        [tuple(entry) for entry in core[2 : 2 + core[1]].reshape(-1, 4).tolist()]
        for block in report
        for core in block
        if core[1] <= 4 * trace
    ]
    return Outcome(arrays, error, early, traces)


def _stacked(arrays: Sequence[Any]) -> Any:
    """One row of bytes for each array, a multiple of 512 long."""
    size = -(-arrays[0].nbytes // 512) * 512
    result = np.zeros((len(arrays), size), np.uint8)
    for row, array in zip(result, arrays, strict=True):
        row[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return result


@lru_cache(maxsize=2)
def _machine(entry: str) -> Any:
    names = ["program", "report", "room", "blocks", *(f"t{i}" for i in range(TENSORS))]
    kinds = ["ptr", "ptr", "i64", "i64", *(["ptr"] * TENSORS)]
    return launcher().Kernel(str(machine_library()), entry, kinds, names)


def machine_library() -> Path:
    """The machine, compiled for this host; kept beside the simulator's library under a hash."""
    sources = [HERE / "machine.cpp", HERE / "flag_clocks.h", HERE / "operations.def"]
    headers = sorted(DEVICE_HEADER_DIR.rglob("*.h"))
    flags = [*builder.kernel_flags(), f"-I{DEVICE_HEADER_DIR}", f"-I{HERE}"]
    digest = sha256(str(simulator_library()).encode())
    for path in (*sources, *headers, Path(__file__)):
        digest.update(path.read_bytes())
    folder = builder.default_cache_dir() / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"machine-{digest.hexdigest()[:16]}.so"
    if library.exists():
        return library
    built = library.with_suffix(f".{id(digest):x}.part")
    command = [builder.find_compiler(), *flags, "-shared", str(sources[0]), "-o", str(built)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    built.replace(library)  # another worker may have been faster: both are the same
    return library
