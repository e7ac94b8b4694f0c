"""Make the page that shows a learner's progress: one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tile_runtime.puzzles.progress import Progress
from tile_runtime.puzzles.puzzle import Puzzle

HERE = Path(__file__).parent


def progress_page(puzzles: Sequence[Puzzle], progress: Mapping[str, Progress]) -> str:
    """The page as HTML."""
    rows = [(puzzle, progress.get(puzzle.number)) for puzzle in puzzles]
    unsolved = next((p for p, one in rows if one is None or not one.solved), None)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("progress.html.jinja").render(
        ladders=(
            ("The language", [row for row in rows if not row[0].is_by_hand]),
            ("The machine", [row for row in rows if row[0].is_by_hand]),
        ),
        solved=sum(one is not None and one.solved for _, one in rows),
        count=len(rows),
        next=unsolved,
        begun=unsolved is not None and unsolved.number in progress,
        style=(HERE / "progress.css").read_text(),
    )
