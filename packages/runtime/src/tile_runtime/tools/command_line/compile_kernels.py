"""`tile-ascend compile-kernels`: kernels for C++, built ahead of time."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tile_ir import BuildError

# The processes for a number of processors at most, as engines have it; more of these take the last.
_JOBS = ((4, 1), (8, 2), (16, 4), (64, 8))
_MOST_JOBS = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", required=True, choices=("ascend", "sim", "none"),
        help="compile for the NPU, for the simulator on this machine, or only emit sources",
    )  # fmt: skip
    parser.add_argument("--device", choices=("a2", "a3", "a5"), help="the family of chips")
    parser.add_argument(
        "--from", dest="folder", type=Path, default=Path("kernels"), metavar="FOLDER",
        help="folder of the Python files that register kernels (default: kernels)",
    )  # fmt: skip
    parser.add_argument("--output-root", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="these only")
    parser.add_argument(
        "--path", action="append", default=[], metavar="FOLDER",
        help="another folder that modules of the project are imported from; may be repeated",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="build what is built already too")
    parser.add_argument("--jobs", type=_positive, default=None, help="processes at a time")


def run(options: argparse.Namespace) -> int:
    from tile_runtime.ahead_of_time.build_kernels import BuildOrder, build_kernels
    from tile_runtime.ahead_of_time.find_kernels import find_kernels
    from tile_runtime.ahead_of_time.toolchain import toolchain

    chosen = toolchain(options.target, options.device)
    paths = [os.fspath(Path(p).resolve()) for p in options.path] + [os.getcwd()]
    sys.path[:0] = [p for p in paths if p not in sys.path]
    folder = options.folder.resolve()
    kernels = find_kernels(folder, options.kernels)
    jobs = options.jobs or _usual_jobs()
    root = options.output_root.resolve()
    order = BuildOrder(folder, root, chosen, jobs, options.force, tuple(paths))
    progress = _CompileProgress(sum(len(f.specs) for f in kernels.families.values()))
    failed = len(kernels.broken)
    for error in kernels.broken.values():
        print(error, file=sys.stderr)
    for result in build_kernels(kernels, order, progress.told):
        if result.error is not None:
            failed += 1
            print(result.error, file=sys.stderr)
            continue
        print(f"built {options.target}:{result.kernel} ({result.compiled} compiled)")
        print(f"manifest: {result.manifest}")
    if not kernels.families and not kernels.broken:
        what = f"no file of {folder} registers a kernel"
        raise BuildError("aot-folder", what, hint="--from FOLDER")
    return 1 if failed else 0


class _CompileProgress:
    """Says on standard error which variant is done."""

    def __init__(self, variants: int) -> None:
        self.variants, self.done = variants, 0
        self.started = time.monotonic()

    def told(self, kernel: str, variant: str, compiled: bool) -> None:
        self.done += 1
        if compiled:
            seconds = time.monotonic() - self.started
            text = f"[{self.done}/{self.variants}] {kernel} {variant}  {seconds:.1f} s"
            print(text, file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one")
    return number


def _usual_jobs() -> int:
    processors = os.cpu_count() or 1
    return next((jobs for most, jobs in _JOBS if processors <= most), _MOST_JOBS)
