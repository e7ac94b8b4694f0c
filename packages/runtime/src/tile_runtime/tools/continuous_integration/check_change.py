"""Judge every kernel file that a change concerns, and compare its times with those of the base."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

from tile_ir import Diagnostic, KernelError, Loc
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.child_processes.answers import WARM_UP
from tile_runtime.child_processes.child_server import ChildServer, EndedChild
from tile_runtime.child_processes.limits import ChildLimits
from tile_runtime.child_processes.surroundings import Surroundings
from tile_runtime.launcher.native import simulator_library
from tile_runtime.tools.command_line.finding_formats import Found
from tile_runtime.tools.continuous_integration.compare_times import (
    TimeChange,
    slower,
    time_changes,
)
from tile_runtime.tools.continuous_integration.file_result import FileResult, result_from
from tile_runtime.tools.continuous_integration.kept_results import keep_result, kept_result
from tile_runtime.tools.continuous_integration.kernel_files import (
    SUFFIXES,
    holds_kernels,
    kernel_files,
)
from tile_runtime.tools.continuous_integration.touched_files import (
    Checkout,
    base_files,
    checkout_against,
    extract_base,
    tracked_files,
)

_RUN = "tile_runtime.tools.continuous_integration.run_kernel_file:run_kernel_file"
# The switches of a run, of which several run at once. Scripts for tilelang rely on calls that are
# not compared with the declaration.
SWITCHES_OF_RUNS = {
    "check": "strict", "time": True, "target": "sim", "lax_calls": True, "threads": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChangeVerdict:
    """The findings in the kernel files that a change concerns, and the changes of their times.
    `root` is the folder that paths count from; `kept` files had been judged before."""

    root: Path
    base: str | None
    files: tuple[str, ...]
    found: tuple[Found, ...]
    changes: tuple[TimeChange, ...]
    kept: int

    @property
    def errors(self) -> int:
        """The number of errors among the findings."""
        return sum(found.diagnostic.severity == "error" for found in self.found)


def check_change(
    folder: Path,
    base: str | None,
    paths: Sequence[str],
    limit: float,
    seconds: float,
    seen: Callable[[str], None] = lambda line: None,
) -> ChangeVerdict:
    """Judge the kernel files below `paths`, all if there are none, that differ from a base. Without
    a base `paths` are files and folders to judge whole.

    `limit` is the part of its time by which a kernel may be slower, `seconds` the limit of a file;
    `seen` is called with a line for each file. Raises KernelError as git fails.
    """
    if base is None:
        checkout = Checkout(folder, None, frozenset(), {})
        files = _below(folder, paths)
    else:
        checkout = checkout_against(base, folder)
        wanted = [os.path.relpath(folder / path, checkout.root) for path in paths or (".",)]
        concerned = kernel_files(checkout.root, tracked_files(checkout.root), checkout.touched)
        files = [file for file in concerned if any(map(partial(_within, file), wanted))]
    if files:
        simulator_library()  # one process builds it, where it is not built yet
    with ChildServer(WARM_UP) as children:
        judge = partial(_judged, children, seconds)
        after = _all(partial(judge, seen, checkout.root), files)
        before = _results_of_base(
            checkout, files, partial(judge, lambda line: seen(f"base: {line}"))
        )
    changes = [
        change
        for file, result in zip(files, after, strict=True)
        for change in time_changes(
            before[file].kernels if file in before else (), result[0].kernels
        )
    ]
    found = [*(one for result, _ in after for one in result.found), *slower(changes, limit)]
    kept = sum(was_kept for _, was_kept in after)
    return ChangeVerdict(
        checkout.root, checkout.base, tuple(files), tuple(found), tuple(changes), kept
    )  # fmt: skip


def _results_of_base(
    checkout: Checkout, files: Sequence[str], judge: Callable[[Path, str], tuple[FileResult, bool]]
) -> dict[str, FileResult]:
    """The results of the files that the base has too."""
    names = {file: checkout.base_name(file) for file in files}
    had = base_files(checkout)
    there = [file for file in files if names[file] in had]
    if not there:
        return {}
    with tempfile.TemporaryDirectory(prefix="tile-ascend-base-") as scratch:
        root = Path(scratch).resolve()
        extract_base(checkout, root)
        results = _all(partial(judge, root), [names[file] for file in there])
    return {file: result for file, (result, _) in zip(there, results, strict=True)}


def _all(
    judge: Callable[[str], tuple[FileResult, bool]], files: Iterable[str]
) -> list[tuple[FileResult, bool]]:
    """As many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        started = [pool.submit(copy_context().run, judge, file) for file in files]
        return [future.result() for future in started]


def _judged(
    children: ChildServer, seconds: float, seen: Callable[[str], None], root: Path, file: str
) -> tuple[FileResult, bool]:
    """The result of a file below a root, and whether it was kept from an earlier run."""
    kept = kept_result(root, file)
    if kept is not None:
        seen(f"{file}: judged before")
        return kept, True
    seen(f"{file}: running")
    place = Surroundings.here(str(root), SWITCHES_OF_RUNS)
    ended = children.run(_RUN, {"file": file}, ChildLimits.of_time(seconds), place=place)
    answer = ended.event("result")
    if answer is None:
        return FileResult(file, found=(Found(_broken_off(file, ended, seconds)),)), False
    result = result_from(answer["result"])
    keep_result(root, file, result)
    return result, False


def _broken_off(file: str, ended: EndedChild, seconds: float) -> Diagnostic:
    """A finding about a process that ended without an answer, at the line where it was."""
    where = re.search(rf'File "(?:[^"]*/)?{re.escape(file)}", line (\d+)', ended.printed)
    loc = Loc(file, int(where[1]) if where else 1, 1)
    if ended.how == "time-limit":
        said = f"{file} was still running after {seconds:g} s"
        return Diagnostic("time-limit", said, loc, "--timeout gives it longer")
    lines = [line for line in ended.printed.splitlines() if line.strip()]
    last = lines[-1].strip() if lines and not where else "its process crashed"
    return Diagnostic("run-failed", f"{file} ended without a result: {last}", loc)


def _below(folder: Path, paths: Sequence[str]) -> list[str]:
    """The kernel files at some paths and in folders, relative to a folder."""
    found: list[str] = []
    for path in paths:
        place = folder / path
        if not place.exists():
            raise KernelError("no-such-file", f"{path} does not exist")
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        names = (os.path.relpath(p, folder) for p in inside if p.suffix in SUFFIXES)
        found += [n for n in names if holds_kernels(n, (folder / n).read_text(errors="replace"))]
    return list(dict.fromkeys(found))


def _within(file: str, folder: str) -> bool:
    """Whether a path is a folder's or lies in it."""
    return folder == "." or file == folder or file.startswith(f"{folder}/")
