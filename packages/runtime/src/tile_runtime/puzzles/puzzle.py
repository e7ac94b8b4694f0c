"""Find puzzles and cut the learner's file out of the file with the answer.

A file in `answers/` has three marks, each a comment on a line of its own:

* `# your part` and `# end of your part` enclose an answer. The learner's file has instead the lines
  of it that begin with `#:`, or a single `...`.
* `# for the judge` ends the learner's file. Behind it stand `HIDDEN`, the sizes that the page does
  not show, and `HINTS`, one sentence or two each.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tile_ir import CallError
from tile_ir.quick_dataclasses import dataclass

ANSWERS = Path(__file__).parent / "answers"
_PART = re.compile(r"^( *)# your part$\n(.*?)^ *# end of your part$\n", re.MULTILINE | re.DOTALL)
# The first puzzle of the machine.
_FIRST_BY_HAND = "11"
_GIVEN = re.compile(r"^ *#: ?", re.MULTILINE)
_JUDGE = "# for the judge\n"
_MAIN = """
if __name__ == "__main__":  # `python {file}` runs your kernel; print what you want to see
    data = inputs(**SIZES)
    print({call})
    print(reference(*data))
"""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """`title` and `learns` are of the page; `sizes` are those that are shown and timed, `hidden`
    those that are not shown; `limit` is in microseconds of the time model."""

    number: str
    name: str
    title: str
    learns: str
    sizes: dict[str, Any]
    hidden: tuple[dict[str, Any], ...]
    limit: float
    hints: tuple[str, ...]

    @property
    def is_by_hand(self) -> bool:
        """Whether memories, cores and order are the learner's, as far as the answer has them."""
        return self.number >= _FIRST_BY_HAND

    @property
    def file(self) -> str:
        """The name of the learner's file."""
        return f"{self.number}_{self.name}.py"

    @property
    def answer(self) -> Path:
        """The file with the answer."""
        return ANSWERS / self.file


def all_puzzles() -> list[Puzzle]:
    """Every puzzle, in the order of their numbers."""
    return [_read(path) for path in sorted(ANSWERS.glob("[0-9]*.py"))]


def find_puzzle(text: str) -> Puzzle:
    """The puzzle of this number, name or file name; CallError if there is none."""
    wanted = Path(text).stem
    puzzles = all_puzzles()
    for puzzle in puzzles:
        names = (puzzle.number, puzzle.number.lstrip("0"), puzzle.name, Path(puzzle.file).stem)
        if wanted in names:
            return puzzle
    first, last = puzzles[0].number, puzzles[-1].number
    raise CallError(
        "no-such-puzzle", f"there is no puzzle {text!r}, expected a number from {first} to {last}",
        hint="`tile-ascend puzzles` lists them",
    )  # fmt: skip


def learners_text(puzzle: Puzzle) -> str:
    """The text of the file that a learner starts from."""
    return _shown(puzzle, _hole)


def answers_text(puzzle: Puzzle) -> str:
    """The same text with the answer in its place."""
    return _shown(puzzle, _answer)


def _shown(puzzle: Puzzle, fill: Callable[[re.Match[str]], str]) -> str:
    """The learner's file with its hole filled."""
    page = puzzle.answer.read_text().partition(_JUDGE)[0].rstrip() + "\n\n"
    special = "def launch(" in page
    call = f"launch({puzzle.name}, data, **SIZES)" if special else f"{puzzle.name}(**SIZES)(*data)"
    return _PART.sub(fill, page) + _MAIN.format(file=puzzle.file, call=call)


def _answer(part: re.Match[str]) -> str:
    """The answer without the lines that a learner starts from."""
    lines = part[2].splitlines(keepends=True)
    return "".join(line for line in lines if not _GIVEN.match(line))


def _hole(part: re.Match[str]) -> str:
    """The text in place of an answer: the lines it gives, or `...`."""
    indent, answer = part[1], part[2]
    given = [_GIVEN.sub("", line) for line in answer.splitlines() if _GIVEN.match(line)]
    lines = given or ["...  # write your part here"]
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)


def _read(path: Path) -> Puzzle:
    """The record of a file, without executing it."""
    tree = ast.parse(path.read_text())
    page = ast.get_docstring(tree) or ""
    values = dict(_constants(tree))
    number, _, name = path.stem.partition("_")
    head = page.partition("\n")[0]
    learns = re.search(r"^You learn: (.*?)$\n^$", page + "\n\n", re.MULTILINE | re.DOTALL)
    assert learns is not None, f"{path.name} says what one learns"
    return Puzzle(
        number, name, head.partition(": ")[2].rstrip("."), " ".join(learns[1].split()),
        values["SIZES"], tuple(values["HIDDEN"]), float(values["LIMIT"]), tuple(values["HINTS"]),
    )  # fmt: skip


def _constants(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("SIZES", "HIDDEN", "LIMIT", "HINTS"):
                yield name, ast.literal_eval(node.value)
