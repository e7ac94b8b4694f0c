"""Judge a file in another process, which is ended when its time is over."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tile_runtime.puzzles.puzzle import Puzzle
from tile_runtime.puzzles.puzzle_verdict import BROKEN, LATE, PuzzleVerdict
from tile_runtime.tuning.trial import TIMED_OUT
from tile_runtime.tuning.worker_processes import answer_apart


def judge_apart(puzzle: Puzzle, path: Path, seconds: float) -> PuzzleVerdict:
    """`judge_puzzle` in a process of its own. The time counts from when the process has started."""
    found = answer_apart(partial(_judge, puzzle, path), seconds)
    if isinstance(found, PuzzleVerdict):
        return found
    if found.state == TIMED_OUT:
        return PuzzleVerdict(LATE, f"{path}: not done after {seconds:g} s", "time-limit")
    return PuzzleVerdict(BROKEN, f"{path}: {found.problem}", "process-ended")


def _judge(puzzle: Puzzle, path: Path) -> PuzzleVerdict:
    """The verdict; what it takes is imported in that process alone."""
    from tile_runtime.puzzles.judge_puzzle import judge_puzzle

    return judge_puzzle(puzzle, path)
