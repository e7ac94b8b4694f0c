"""The launcher without a compiled extension, for a Python whose headers are not installed.

Same interface and results as `launcher/_tile_launcher.pyi`, a few microseconds slower per call;
`tile-ascend doctor` says which of the two is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tile_runtime.simulator.simulation_error import Fault
from tile_runtime.simulator.timeline import ACCESS, EVENT, PADDING, TOTALS

# Every byte of outputs and workspaces before the kernel writes it: NaN, or -1.
UNWRITTEN = 0xFF
CHECKS_OFF = 0
CHECKS_DEVICE = 1
CHECKS_STRICT = 2

_CELLS: dict[str, Any] = {
    "ptr": ctypes.c_void_p, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool,
}  # fmt: skip


# These mirror the structures of simulator/include/tile_simulator.h and tile_timing.h.
class _Buffer(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("name", ctypes.c_char_p),
        ("fresh", ctypes.c_uint32),
    )  # fmt: skip


class _Unwritten(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("count", "first", "end"))


class _Options(ctypes.Structure):
    _fields_ = (
        ("checks", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("seed", ctypes.c_uint64),
        ("starved", ctypes.c_uint32), ("cube_cores", ctypes.c_uint32),
        ("vector_cores", ctypes.c_uint32),
        ("timing", ctypes.POINTER(ctypes.c_double)), ("timeout", ctypes.c_double),
        ("first", ctypes.c_uint32),
    )  # fmt: skip


class _Error(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char_p), ("text", ctypes.c_char_p), ("file", ctypes.c_char_p),
        ("line", ctypes.c_uint32), ("block", ctypes.c_uint32), ("core", ctypes.c_char_p),
        ("api", ctypes.c_char_p), ("hint", ctypes.c_char_p),
    )  # fmt: skip


class _Timeline(ctypes.Structure):
    _fields_ = (
        ("events", ctypes.c_void_p), ("count", ctypes.c_size_t),
        ("accesses", ctypes.c_void_p), ("access_count", ctypes.c_size_t),
        ("paddings", ctypes.c_void_p), ("padding_count", ctypes.c_size_t),
        ("strings", ctypes.POINTER(ctypes.c_char_p)), ("string_count", ctypes.c_size_t),
        ("cycles", ctypes.c_double), ("start_cycles", ctypes.c_double),
        ("scalar_aic_cycles", ctypes.c_double), ("scalar_aiv_cycles", ctypes.c_double),
        ("launch_us", ctypes.c_double), ("macs", ctypes.c_uint64),
        ("read_bytes", ctypes.c_uint64), ("write_bytes", ctypes.c_uint64),
        ("hbm_bytes", ctypes.c_uint64), ("owed_bytes", ctypes.c_uint64),
    )  # fmt: skip


class CtypesLauncher:
    """Stands in for the module `_tile_launcher`, with the simulator loaded."""

    CHECKS_OFF = CHECKS_OFF
    CHECKS_DEVICE = CHECKS_DEVICE
    CHECKS_STRICT = CHECKS_STRICT

    def __init__(self, simulator: Path) -> None:
        library: Any = ctypes.CDLL(str(simulator), mode=ctypes.RTLD_GLOBAL)
        library.tile_simulator_error.restype = ctypes.POINTER(_Error)
        library.tile_simulator_others.restype = ctypes.POINTER(_Error)
        library.tile_simulator_timeline.restype = ctypes.POINTER(_Timeline)
        library.tile_simulator_unwritten.restype = _Unwritten
        library.tile_simulator_timing_names.restype = ctypes.c_char_p
        # Not c_char_p: printed text may contain zero bytes.
        library.tile_simulator_output.restype = ctypes.c_void_p
        self._library = library

    def Kernel(
        self, path: str, entry_symbol: str, kinds: Sequence[str], names: Sequence[str] = ()
    ) -> CtypesKernel:
        """Load a kernel library. RuntimeError if it can not be loaded."""
        return CtypesKernel(self._library, path, entry_symbol, kinds, names)


class CtypesKernel:
    """A loaded kernel library."""

    def __init__(
        self,
        simulator: Any,
        path: str,
        entry_symbol: str,
        kinds: Sequence[str],
        names: Sequence[str],
    ) -> None:
        self._simulator = simulator
        try:
            self._entry = getattr(ctypes.CDLL(path), entry_symbol)
        except (OSError, AttributeError) as error:
            raise RuntimeError(f"cannot load {path}: {error}") from None
        self._entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._entry.restype = None
        self._cells = [_CELLS[kind] for kind in kinds]
        self._pointers = [i for i, kind in enumerate(kinds) if kind == "ptr"]
        self._names = [name.encode() for name in names] or [b"?"] * len(kinds)
        self._options = _Options()
        simulator.tile_simulator_default_options(ctypes.byref(self._options))

    def set_options(
        self,
        *,
        checks: int = CHECKS_DEVICE,
        threads: int = 0,
        seed: int = 0,
        starved: int = 0,
        cube_cores: int = 24,
        vector_cores: int = 48,
        timing: dict[str, float] | None = None,
        timeout: float = 0,
        first: bool = False,
    ) -> None:
        """Options of later runs of this kernel. threads = 0 means all host threads."""
        constants = None
        if timing is not None:
            names = self._simulator.tile_simulator_timing_names().decode().split()
            constants = (ctypes.c_double * len(names))(*(timing[name] for name in names))
        self._options = _Options(
            checks, threads, seed, starved, cube_cores, vector_cores, constants, timeout, first
        )

    def timeline(self) -> tuple[dict[str, float], list[str], bytes, bytes, bytes] | None:
        """Totals, strings, events, accesses and paddings of the latest timed run on this thread."""
        found = self._simulator.tile_simulator_timeline()
        if not found:
            return None
        line = found.contents
        strings = [line.strings[i].decode(errors="replace") for i in range(line.string_count)]
        events = ctypes.string_at(line.events, line.count * EVENT.itemsize)
        accesses = ctypes.string_at(line.accesses, line.access_count * ACCESS.itemsize)
        paddings = ctypes.string_at(line.paddings, line.padding_count * PADDING.itemsize)
        totals = {name: getattr(line, name) for name in TOTALS}
        return totals, strings, events, accesses, paddings

    def run(
        self,
        values: tuple[float, ...],
        byte_sizes: tuple[int, ...],
        fresh: tuple[int, ...] = (),
    ) -> tuple[Fault | None, str]:
        """Run the kernel on the given values (pointers as integers); `fresh` are the positions of
        buffers that nothing has written, and are filled with bytes nobody expects."""
        for i in fresh:
            ctypes.memset(int(values[i]), UNWRITTEN, byte_sizes[i])
        cells = [cell(value) for cell, value in zip(self._cells, values, strict=True)]
        arguments = (ctypes.c_void_p * max(len(cells), 1))(*map(ctypes.addressof, cells))
        buffers = (_Buffer * max(len(self._pointers), 1))(
            *(
                _Buffer(int(values[i]), byte_sizes[i], self._names[i], i in fresh)
                for i in self._pointers
            )
        )
        simulator = self._simulator
        simulator.tile_simulator_clear()
        simulator.tile_simulator_set_buffers(buffers, ctypes.c_size_t(len(self._pointers)))
        simulator.tile_simulator_set_options(ctypes.byref(self._options))
        self._entry(arguments, None)
        length = ctypes.c_size_t()
        start = simulator.tile_simulator_output(ctypes.byref(length))
        text = ctypes.string_at(start, length.value).decode(errors="replace")
        found = simulator.tile_simulator_error()
        return (_fault(found.contents) if found else None), text

    def unwritten(self, base: int, element_bytes: int) -> tuple[int, int, int]:
        """Elements of a fresh buffer the latest run did not write: their number, the first run."""
        found = self._simulator.tile_simulator_unwritten(
            ctypes.c_void_p(base), ctypes.c_uint64(element_bytes)
        )
        return found.count, found.first, found.end

    def others(self) -> list[Fault]:
        """Further errors of the latest run on this thread, or what one without an error only
        warned of."""
        count = ctypes.c_size_t()
        first = self._simulator.tile_simulator_others(ctypes.byref(count))
        return [_fault(first[i]) for i in range(count.value)]


def _fault(e: Any) -> Fault:
    strings = {k: getattr(e, k).decode(errors="replace")
               for k in ("kind", "text", "file", "core", "api", "hint")}  # fmt: skip
    return Fault(line=e.line, block=e.block, **strings)
