"""Judge a file in another process, which is ended when its time is over."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tile_runtime.child_processes.answers import WARM_UP, answer_apart
from tile_runtime.child_processes.child_server import ChildServer
from tile_runtime.puzzles.puzzle import Puzzle
from tile_runtime.puzzles.puzzle_verdict import BROKEN, LATE, PuzzleVerdict


def judge_apart(puzzle: Puzzle, path: Path, seconds: float) -> PuzzleVerdict:
    """`judge_puzzle` in a process of its own. The time counts from when the process has started."""
    with ChildServer(WARM_UP) as children:
        found = answer_apart(children, partial(_judge, puzzle, path), seconds)
    if isinstance(found, PuzzleVerdict):
        return found
    if found.how == "time-limit":
        return PuzzleVerdict(LATE, f"{path}: {found.problem}", found.how)
    return PuzzleVerdict(BROKEN, f"{path}: {found.problem}", "process-ended")


def _judge(puzzle: Puzzle, path: Path) -> PuzzleVerdict:
    """The verdict; what it takes is imported in that process alone."""
    from tile_runtime.puzzles.judge_puzzle import judge_puzzle

    return judge_puzzle(puzzle, path)
