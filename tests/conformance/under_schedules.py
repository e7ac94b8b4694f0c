"""A script whose kernels run again in many orders of the cores, at each level of checks:
`python -m conformance.under_schedules SEEDS SECONDS SCRIPT [arguments]`.

After the first run of a kernel with arguments of some sizes it runs `SEEDS` times more at every
level, on the same memory, with other seeds and another core held back in turn; when the script has
run for `SECONDS`, what is left of them is left out, and the last line says so. Each error and warning
is printed as it is found, once for its place; the exit code is 1 if there was any, else the script's.
A script that is right has none.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

from tile_ir import TileError
from tile_ir.switches import SWITCHES, override
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.launcher.run_watchers import record_calls
from tile_runtime.scripts.process import main as run_script

LEVELS = ("device", "strict")


@dataclass
class Schedules:
    """What all kernels of a script gave; `ran` counts the orders that each ran in at each level."""

    seeds: int
    until: float
    ran: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    found: dict[str, None] = field(default_factory=dict)

    def __call__(self, kernel: JITKernel, call: Bound, inputs: tuple[Any, ...] = ()) -> None:
        """Run the kernel of a call in all orders; its memory is as the call left it after each."""
        key = kernel.libpath, call.sizes
        if key in self.ran:
            return
        self.ran[key] = 0
        memory = [(int(v), n) for v, n in zip(call.values, call.sizes, strict=True) if n]
        before = [ctypes.string_at(pointer, size) for pointer, size in memory]
        starved = itertools.cycle(SWITCHES["starve"].choices)
        for seed, level in itertools.product(range(self.seeds), LEVELS):
            if time.monotonic() > self.until:
                return
            with (
                override(check=level, seed=seed, starve=next(starved)),
                warnings.catch_warnings(record=True) as warned,
            ):
                warnings.simplefilter("always")
                try:
                    kernel.launch_again(call)
                except TileError as error:
                    self._tell(f"{error} (seed {seed}, {level})")
                for warning in warned:
                    self._tell(f"{warning.filename}:{warning.lineno}: {warning.message}")
            for (pointer, size), content in zip(memory, before, strict=True):
                ctypes.memmove(pointer, content, size)
            self.ran[key] += level == LEVELS[-1]

    def _tell(self, text: str) -> None:
        first = text.partition("\n")[0]
        if first not in self.found:
            self.found[first] = None
            print(text, flush=True)


def main() -> int:
    seeds, seconds, *arguments = sys.argv[1:]
    schedules = Schedules(int(seeds), time.monotonic() + float(seconds))
    code = 0
    try:
        with record_calls(schedules):
            run_script(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    kernels, found = len(schedules.ran), len(schedules.found)
    fewest = min(schedules.ran.values(), default=schedules.seeds)
    print(
        f"{kernels} kernel{'' if kernels == 1 else 's'} in {fewest} of {seeds} orders at "
        f"{' and '.join(LEVELS)}: {found} findings"
    )
    return code or int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
