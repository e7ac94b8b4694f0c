"""Rows about puzzles: how long the judge takes for an answer, each in a process of its own and with
nothing cached. A row takes some seconds, so that all are measured on request only."""

from __future__ import annotations

import functools
import os
from unittest.mock import patch

from bench.row import Examples, Measurement, Row, repeat, summary
from tile_runtime.puzzles.judge_apart import judge_apart
from tile_runtime.puzzles.puzzle import Puzzle, all_puzzles

# Seconds that the judge may take.
LIMIT = 5


def _measure(puzzle: Puzzle, _: Examples) -> list[Row]:
    def check() -> None:
        with patch.dict(os.environ, TILE_CACHE="0"):
            verdict = judge_apart(puzzle, puzzle.answer, 60)
        assert verdict.right, verdict.text

    return [summary(f"puzzle {puzzle.number}: check", repeat(check, 3), "s", LIMIT)]


PUZZLES: dict[str, Measurement] = {
    f"puzzles.{puzzle.number}": functools.partial(_measure, puzzle) for puzzle in all_puzzles()
}
