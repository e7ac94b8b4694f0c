"""kernels.md and its pictures: how fast the examples in developer style are, and those that are
written as for a GPU, by the time model."""

from __future__ import annotations

from posixpath import normpath

from pages.kernel_pictures import pipes_picture, roofline_picture
from pages.kernel_times import (
    CASES,
    FOLDER,
    GPU_CASES,
    GPU_FOLDER,
    PIPES,
    SOC,
    Measured,
    measured,
)
from pages.markdown import cell, table

HEAD = f"""\
<!-- Measured by docs/generate.py: `make docs` runs every kernel on the time model, which takes
minutes, and writes this page and its pictures anew. -->

# Kernels

The [examples in developer style](../../examples/developer) name no memory, core, flag or barrier.
This page lists their modelled times ([time model](../hardware/time_model.md)) on {SOC}, from the
start of the first block to the end of the last. The sizes keep all cores busy and run in seconds.
L2 starts empty, so much of the time goes into the first read of the operands and into starting the
cores.

![All kernels under the roofline of the chip](../pictures/roofline.svg)

* **bound by**: the unit (HBM, matrix or vector) that needs most time for this work alone. Each
  operand passes HBM once, products run at the peak of their operand type, vector operations at
  256 bytes a cycle.
  Results stay in L2 as far as they fit. **of it**: that time divided by the modelled time.
* Operations: 2 for a multiply-accumulate, 1 for an element of a vector operation. A byte of an
  operand counts once, even if a kernel loads it several times.
"""
PARTS = """\
## Pipes

The share of the time in which each pipe is busy, in percent, as a mean over the cores that take
part. The rest is waiting; [reports](reports.md) name the reason.

![How busy each pipe is](../pictures/pipes.svg)
"""
GPU = """\
## Written as for a GPU

These [examples](../../examples/gpu) have tiles, grids and threads of a GPU.
[Coming from GPUs](coming_from_gpus.md) describes their translation. The columns are those of the
first table. Times of several launches are added up.
"""
CORES = {"aic": "cube", "aiv": "vector"}


def kernel_files() -> dict[str, str]:
    """The page and its pictures, by their paths below docs/."""
    kernels = list(measured(CASES, FOLDER))
    foreign = list(measured(GPU_CASES, GPU_FOLDER))
    return {
        "use/kernels.md": _page(kernels, foreign),
        "pictures/roofline.svg": roofline_picture(kernels),
        "pictures/pipes.svg": pipes_picture(kernels),
    }


def _page(kernels: list[Measured], foreign: list[Measured]) -> str:
    head = ("kernel", "size", "µs", "bound by", "of it", "operations a byte", "TFLOP/s")
    pipes = ("kernel", *(f"{CORES[core]} {pipe}" for core, pipe in PIPES))
    busy = ((k.case.name, *(_busy(k, pipe) for pipe in PIPES)) for k in kernels)
    rows = (_row(k, "developer") for k in kernels)
    gpu_rows = (_row(k, "gpu") for k in foreign)
    return "\n".join(
        [HEAD, table(head, rows), PARTS, table(pipes, busy), GPU, table(head, gpu_rows)]
    )


def _row(k: Measured, folder: str) -> tuple[str, ...]:
    line = k.roofline
    script = normpath(f"../../examples/{folder}/{k.case.script}.py")
    return (
        f"[{cell(k.case.name)}]({script})",
        k.case.size,
        f"{k.microseconds:.1f}",
        line.bound,
        f"{100 * line.share:.0f} %",
        f"{line.operations / line.bytes:.3g}",
        f"{line.operations / line.seconds / 1e12:.3g}",
    )


def _busy(k: Measured, pipe: tuple[str, str]) -> str:
    share = k.busy.get(pipe)
    return "" if share is None else f"{100 * share:.0f}"
