"""Judge a learner's file: finished, compiled, no finding, right on all sizes, fast enough."""

from __future__ import annotations

import ast
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tile_ir import KernelWarning, TileError
from tile_ir.switches import override
from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.puzzles.left_to_compiler import left_to_compiler
from tile_runtime.puzzles.puzzle import Puzzle
from tile_runtime.puzzles.puzzle_verdict import (
    AUTOMATIC,
    BROKEN,
    FINDING,
    REFUSED,
    RIGHT,
    SLOW,
    UNFINISHED,
    WRONG,
    PuzzleVerdict,
)
from tile_runtime.scripts.compare_results import compare_tensors
from tile_runtime.scripts.module import load_script
from tile_runtime.simulator.simulation_error import SimulationError

if TYPE_CHECKING:
    from tile_runtime.tools.report.timed_run import TimedRun

_AUTOMATIC = (
    "your kernel leaves to the compiler {}; in this puzzle that is your part.\n"
    "Take the option out of `pass_configs`, and write it yourself"
)
# So many further findings of a run are printed.
_FURTHER = 2
# Whatever the environment says: the limits hold for this chip, and order is the learner's.
_SWITCHES = {
    "check": "strict",
    "target": "sim",
    "soc": "Ascend910B2",
    "seed": 0,
    "first": False,
    "auto_sync": False,
    "memory_planning": False,
    "cv_combine": False,
    "cv_sync": False,
    "skip": "",
    "stop_after": "",
}


def judge_puzzle(
    puzzle: Puzzle, path: Path, sizes: Sequence[dict[str, Any]] | None = None
) -> PuzzleVerdict:
    """The verdict on a file, for all sizes of the puzzle or for these. Inputs, reference, limit and
    launch are those of the puzzle, whatever the file has in their place. Raises FileNotFoundError
    if there is no such file."""
    text = path.read_text()
    try:
        hole = _hole_in(ast.parse(text, str(path)))
        if hole is not None:
            return PuzzleVerdict(UNFINISHED, f"{path}:{hole}: replace `...` by your part")
        given = load_script(puzzle.answer)
        module = load_script(path)
        wanted = (puzzle.sizes, *puzzle.hidden) if sizes is None else sizes
        return _judged(puzzle, given, module, wanted)
    except (Exception, SystemExit) as error:  # the file is the learner's: it may raise anything
        return PuzzleVerdict(BROKEN, _python_error(error, path), type(error).__name__)


def _judged(
    puzzle: Puzzle, given: ModuleType, module: ModuleType, wanted: Sequence[dict[str, Any]]
) -> PuzzleVerdict:
    """Run on the shown sizes, which are timed, and on the hidden ones."""
    from tile_runtime.tools.report.timed_run import watch_timed_runs

    factory = getattr(module, puzzle.name)
    remarks: list[str] = []
    runs: list[TimedRun] = []
    for sizes in wanted:
        timed = sizes == puzzle.sizes
        shown = ", ".join(f"{name}={value!r}" for name, value in sizes.items())
        with (
            override(time=timed, **_SWITCHES),
            watch_timed_runs(runs.append),
            watch_kernels() as built,
            warnings.catch_warnings(record=True) as told,
        ):
            warnings.simplefilter("always")
            try:
                wrong, problem = _wrong(given, factory, sizes), None
            except TileError as error:
                wrong, problem = "", error
            if timed and puzzle.is_by_hand:
                left = left_to_compiler(getattr(given, puzzle.name), sizes, built)
                if left:
                    return PuzzleVerdict(AUTOMATIC, _AUTOMATIC.format(left), "left-to-compiler")
            if problem is not None:
                kind = FINDING if isinstance(problem, SimulationError) else REFUSED
                return PuzzleVerdict(kind, f"for {shown}:\n{_first_few(problem)}", problem.slug)
        if timed:
            remarks += dict.fromkeys(_remark(w) for w in told if w.category is KernelWarning)
        if wrong:
            return PuzzleVerdict(WRONG, "\n".join((f"for {shown}: {wrong}", *remarks)))
    return _timed(puzzle, runs, remarks) if puzzle.sizes in wanted else PuzzleVerdict(RIGHT)


def _first_few(error: TileError) -> str:
    """The error, and of further ones of its run only the first."""
    further = error.others[_FURTHER:] if isinstance(error, SimulationError) else ()
    if not further:
        return str(error)
    left_out = "".join(f"\n{one}" for one in further)
    return f"{str(error).removesuffix(left_out)}\nand {len(further)} more: mend these first"


def _wrong(given: ModuleType, factory: Any, sizes: dict[str, Any]) -> str:
    """How the results differ from the reference; "" if they do not."""
    import torch

    torch.manual_seed(0)
    data = given.inputs(**sizes)
    expected = given.reference(*(x.clone() for x in data))
    if hasattr(given, "launch"):
        found = given.launch(factory, data, **sizes)
    else:
        found = factory(**sizes)(*data)
    ours, theirs = _listed(found), _listed(expected)
    for one in ours:
        if not isinstance(one, torch.Tensor):
            return f"the result is a {type(one).__name__}, expected a tensor"
    return compare_tensors(ours, theirs).message


def _timed(puzzle: Puzzle, runs: Sequence[TimedRun], remarks: list[str]) -> PuzzleVerdict:
    """The verdict on the time of the shown sizes."""
    from tile_runtime.tools.report.roofline import roofline

    if not runs:
        return PuzzleVerdict(BROKEN, f"`{puzzle.name}` ran no kernel", "no-kernel")
    run = runs[-1]
    spent = run.timeline.microseconds
    share = roofline(run).share
    if spent <= puzzle.limit:
        return PuzzleVerdict(RIGHT, "\n".join(remarks), "", spent, share)
    slow = f"the result is right; it takes {spent:.1f} us, at most {puzzle.limit:g} us are allowed"
    return PuzzleVerdict(SLOW, "\n".join((slow, *_why(run), *remarks)), "slow", spent, share)


def _why(run: TimedRun) -> list[str]:
    """The lines of the report about the time."""
    from tile_runtime.tools.report.why.measures import Measures
    from tile_runtime.tools.report.why.verdict import verdict

    said = verdict(Measures(run))
    lines = [f"{said.what}."]
    if said.evidence:
        lines += [f"  evidence: {said.evidence}", f"  do: {said.do}"]
    return lines


def _remark(told: warnings.WarningMessage) -> str:
    """A remark of the compiler or a warning of the simulator, with its line."""
    return f"{Path(told.filename).name}:{told.lineno}: {told.message}"


def _hole_in(tree: ast.Module) -> int | None:
    """The line of a `...` that stands as a statement."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=value)) if value is ...:
                return node.lineno
    return None


def _python_error(error: BaseException, path: Path) -> str:
    """The error and the line of the file that raised it."""
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    line = next((f.lineno for f in reversed(frames) if f.filename == str(path)), None)
    place = f"{path}:{line}: " if line else f"{path}: "
    return f"{place}{type(error).__name__}: {error}"


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
