"""Keep a learner's progress in a small file beside the puzzles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tile_ir import CallError
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.puzzles.puzzle_verdict import PuzzleVerdict

FILE = "puzzles.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one puzzle: how many checks and hints there were, and the latest verdict. `solved` stays
    true; `best` is the least modelled time of a right answer, in microseconds."""

    checks: int = 0
    hints: int = 0
    solved: bool = False
    latest: str = ""
    best: float | None = None
    share: float | None = None

    def after(self, verdict: PuzzleVerdict) -> Progress:
        """The progress after one more check."""
        better = verdict.right and (self.best is None or (verdict.microseconds or 0.0) < self.best)
        return replace(
            self,
            checks=self.checks + 1,
            solved=self.solved or verdict.right,
            latest=verdict.kind,
            best=verdict.microseconds if better else self.best,
            share=verdict.share if better else self.share,
        )

    def with_hints(self, hints: int) -> Progress:
        """The progress when so many hints have been shown."""
        return replace(self, hints=max(hints, self.hints))

    @property
    def state(self) -> str:
        """The state in one or two words."""
        if self.solved:
            return "solved"
        return self.latest or "started"


def read_progress(folder: Path) -> dict[str, Progress]:
    """Progress by number of puzzle; empty if there is no file. CallError if it cannot be read."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        stored: Mapping[str, Any] = json.loads(path.read_text())
        return {number: Progress(**values) for number, values in stored.items()}
    except (ValueError, TypeError, AttributeError):
        raise CallError(
            "puzzle-progress", f"{path} holds no progress of puzzles",
            hint=f"move {path} away; `tile-ascend puzzles` begins a new one",
        ) from None  # fmt: skip


def write_progress(folder: Path, progress: Mapping[str, Progress]) -> None:
    """Write the file anew."""
    stored = {
        number: {name: getattr(one, name) for name in Progress.__slots__}
        for number, one in sorted(progress.items())
    }
    (folder / FILE).write_text(json.dumps(stored, indent=1) + "\n")
