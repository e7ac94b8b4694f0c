"""Judge a file in other processes, which are ended when their time is over."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tile_ir.switches import override
from tile_runtime.child_processes.answers import WARM_UP, answer_apart
from tile_runtime.child_processes.child_server import ChildServer
from tile_runtime.puzzles.puzzle import Puzzle
from tile_runtime.puzzles.puzzle_verdict import BROKEN, LATE, RIGHT, SLOW, PuzzleVerdict


def judge_apart(puzzle: Puzzle, path: Path, seconds: float) -> PuzzleVerdict:
    """`judge_puzzle` in two processes: one for the shown sizes, one for the hidden ones. The
    time counts from when they have started."""
    with ChildServer(WARM_UP, at_once=2) as children, ThreadPoolExecutor(2) as pool:
        children.start()
        shown, hidden = pool.map(
            lambda sizes: _judged_apart(children, partial(_judge, puzzle, path, sizes), seconds),
            ((puzzle.sizes,), puzzle.hidden),
        )
    return hidden if shown.kind in (RIGHT, SLOW) and not hidden.right else shown


def _judged_apart(
    children: ChildServer, judge: Callable[[], PuzzleVerdict], seconds: float
) -> PuzzleVerdict:
    found = answer_apart(children, judge, seconds)
    if isinstance(found, PuzzleVerdict):
        return found
    if found.how == "time-limit":
        return PuzzleVerdict(LATE, found.problem, found.how)
    return PuzzleVerdict(BROKEN, found.problem, "process-ended")


def _judge(puzzle: Puzzle, path: Path, sizes: tuple[dict[str, Any], ...]) -> PuzzleVerdict:
    """The verdict; what it takes is imported in that process alone."""
    from tile_runtime.jit_kernels.quick_compiler import quick_compiler
    from tile_runtime.puzzles.judge_puzzle import judge_puzzle

    with override(cxx=quick_compiler()[0]):
        return judge_puzzle(puzzle, path, sizes)
