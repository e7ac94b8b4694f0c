"""`tile-ascend puzzles`: learn the language by filling in kernels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir import CallError
from tile_runtime.puzzles.progress import Progress, read_progress, write_progress
from tile_runtime.puzzles.puzzle import Puzzle, all_puzzles, find_puzzle, learners_text

if TYPE_CHECKING:
    from tile_runtime.puzzles.puzzle_verdict import PuzzleVerdict

_DESCRIPTION = """\
Puzzles are kernels with a hole. `start 01` writes the file of puzzle 01 into this folder; its first
lines say what to do. `check 01` judges it in some seconds: right on sizes that the page does not
show, no finding of the simulator, fast enough by the time model. `hint 01` gives one hint more each
time. Progress is kept in puzzles.json in this folder.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(do=_list)
    steps = parser.add_subparsers(title="steps", metavar="step")

    def step(name: str, does: str, run: object) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = steps.add_parser(name, help=does)
        added.set_defaults(do=run)
        return added

    step("list", "list the puzzles and what is solved (default)", _list)
    start = step("start", "write the file of a puzzle, or of all, into this folder", _start)
    start.add_argument("number", help="number or name of a puzzle, or `all`")
    start.add_argument("--force", action="store_true", help="overwrite a file that is there")
    check = step("check", "judge your file", _check)
    check.add_argument("number", help="number or name of a puzzle")
    check.add_argument("file", nargs="?", type=Path, help="default: the file that start wrote")
    check.add_argument("--answer", action="store_true", help="judge the answer instead")
    check.add_argument(
        "--seconds", type=float, default=60.0, help="stop judging after so long (default: 60)"
    )
    for name, does, run in (
        ("hint", "print the next hint", _hint),
        ("answer", "print the answer", _answer),
    ):
        step(name, does, run).add_argument("number", help="number or name of a puzzle")
    page = step("page", "write puzzles.html, a page of your progress", _page)
    page.add_argument("--open", action="store_true", help="open it in a browser")


def run(options: argparse.Namespace) -> int:
    code: int = options.do(options)
    return code


def _list(options: argparse.Namespace) -> int:
    progress = read_progress(Path())
    puzzles = all_puzzles()
    width = max(len(p.title) for p in puzzles)
    for puzzle in puzzles:
        state = progress[puzzle.number].state if puzzle.number in progress else ""
        print(f"{puzzle.number}  {puzzle.title:{width}}  {state}".rstrip())
    solved = sum(one.solved for one in progress.values())
    print(f"{solved} of {len(puzzles)} solved; next: {_next(puzzles, progress)}")
    return 0


def _next(puzzles: list[Puzzle], progress: dict[str, Progress]) -> str:
    """The command that goes on with the first puzzle that is not solved."""
    for puzzle in puzzles:
        if not progress.get(puzzle.number, Progress()).solved:
            step = "check" if Path(puzzle.file).exists() else "start"
            return f"tile-ascend puzzles {step} {puzzle.number}"
    return "write kernels of your own"


def _start(options: argparse.Namespace) -> int:
    if options.number == "all":
        wanted = [p for p in all_puzzles() if options.force or not Path(p.file).exists()]
    else:
        wanted = [find_puzzle(options.number)]
    progress = read_progress(Path())
    for puzzle in wanted:
        path = Path(puzzle.file)
        if path.exists() and not options.force:
            raise CallError(
                "puzzle-exists", f"{path} is there already",
                hint=f"go on with it, or begin anew: tile-ascend puzzles start {puzzle.number} "
                "--force",
            )  # fmt: skip
        path.write_text(learners_text(puzzle))
        progress.setdefault(puzzle.number, Progress())
        print(f"wrote {path}: read its first lines, then fill in your part")
    write_progress(Path(), progress)
    if len(wanted) == 1:
        print(f"then: tile-ascend puzzles check {wanted[0].number}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from tile_runtime.puzzles.judge_apart import judge_apart

    puzzle = find_puzzle(options.number)
    path = puzzle.answer if options.answer else options.file or Path(puzzle.file)
    if not path.is_file():
        raise CallError(
            "puzzle-file", f"there is no {path}",
            hint=f"tile-ascend puzzles start {puzzle.number}",
        )  # fmt: skip
    verdict = judge_apart(puzzle, path, options.seconds)
    if options.answer:
        return _told(puzzle, verdict)
    progress = read_progress(Path())
    before = progress.get(puzzle.number, Progress())
    progress[puzzle.number] = before.after(verdict)
    write_progress(Path(), progress)
    code = _told(puzzle, verdict)
    if verdict.right:
        print(f"next: {_next(all_puzzles(), progress)}")
    else:
        step = "hint" if before.hints < len(puzzle.hints) else "answer"
        print(f"stuck? tile-ascend puzzles {step} {puzzle.number}")
    return code


def _told(puzzle: Puzzle, verdict: PuzzleVerdict) -> int:
    """Print a verdict; the exit code."""
    if not verdict.right:
        print(f"puzzle {puzzle.number}: {verdict.kind}\n{verdict.text}")
        return 1
    print(
        f"puzzle {puzzle.number}: right, {verdict.microseconds:.1f} us modelled "
        f"(at most {puzzle.limit:g} us), {100 * (verdict.share or 0.0):.0f} % of the roofline"
    )
    if verdict.text:
        print(verdict.text)
    return 0


def _hint(options: argparse.Namespace) -> int:
    puzzle = find_puzzle(options.number)
    progress = read_progress(Path())
    one = progress.get(puzzle.number, Progress())
    shown = min(one.hints + 1, len(puzzle.hints))
    for number, hint in enumerate(puzzle.hints[:shown], 1):
        print(f"{number} of {len(puzzle.hints)}: {hint}")
    if one.hints >= len(puzzle.hints):
        print(f"no more hints; the answer: tile-ascend puzzles answer {puzzle.number}")
    progress[puzzle.number] = one.with_hints(shown)
    write_progress(Path(), progress)
    return 0


def _answer(options: argparse.Namespace) -> int:
    from tile_runtime.puzzles.puzzle import answers_text

    print(answers_text(find_puzzle(options.number)), end="")
    return 0


def _page(options: argparse.Namespace) -> int:
    from tile_runtime.puzzles.progress_page import progress_page

    path = Path("puzzles.html")
    path.write_text(progress_page(all_puzzles(), read_progress(Path())))
    print(f"wrote {path}")
    if options.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
