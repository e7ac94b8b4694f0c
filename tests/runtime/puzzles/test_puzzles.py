"""Puzzles: every answer is right and near its limit, every typical wrong answer fails for the right
reason, and the command leads from one to the next."""

import ast
import json
import re
import runpy
from pathlib import Path

import pytest
from wrong_answers import WRONG_ANSWERS, WrongAnswer

from tile_runtime.puzzles import judge_apart
from tile_runtime.puzzles.judge_puzzle import judge_puzzle
from tile_runtime.puzzles.progress import Progress, read_progress, write_progress
from tile_runtime.puzzles.progress_page import progress_page
from tile_runtime.puzzles.puzzle import all_puzzles, answers_text, find_puzzle, learners_text
from tile_runtime.puzzles.puzzle_verdict import (
    FINDING,
    KINDS,
    RIGHT,
    SLOW,
    UNFINISHED,
    WRONG,
    PuzzleVerdict,
)
from tile_runtime.tools.command_line import main

PUZZLES = {p.number: p for p in all_puzzles()}
# What the judge says of the file that a learner starts from, where it has no `...`.
GIVEN = {
    "12": FINDING, "13": SLOW, "14": FINDING, "15": WRONG, "16": FINDING, "17": SLOW, "18": SLOW,
    "19": SLOW, "20": FINDING, "21": SLOW, "22": FINDING,
}  # fmt: skip


def test_there_are_ten_of_the_language_and_twelve_of_the_machine() -> None:
    assert list(PUZZLES) == [f"{n:02}" for n in range(1, 23)]


@pytest.mark.parametrize("number", PUZZLES)
def test_the_answer_is_right_and_the_limit_is_as_told(number: str) -> None:
    puzzle = PUZZLES[number]
    verdict = judge_puzzle(puzzle, puzzle.answer)
    assert (verdict.kind, verdict.text) == (RIGHT, "")
    page = ast.get_docstring(ast.parse(puzzle.answer.read_text())) or ""
    told = re.search(r"that is (\d\.\d+) times what the\s+answer takes", page)
    assert told and verdict.microseconds is not None
    digits = len(told[1].partition(".")[2])
    assert f"{puzzle.limit / verdict.microseconds:.{digits}f}" == told[1]


@pytest.mark.parametrize("number", GIVEN)
def test_what_is_given_fails_as_its_page_says(number: str, tmp_path: Path) -> None:
    puzzle = PUZZLES[number]
    path = tmp_path / puzzle.file
    path.write_text(learners_text(puzzle))
    assert judge_puzzle(puzzle, path).kind == GIVEN[number]


@pytest.mark.whole
@pytest.mark.parametrize("number", PUZZLES)
def test_a_hole_is_reported_at_its_line_and_nothing_hidden_is_shown(
    number: str, tmp_path: Path
) -> None:
    puzzle = PUZZLES[number]
    text = learners_text(puzzle)
    assert not re.search(r"HIDDEN|HINTS|#:|your part$", text)
    assert "#:" not in answers_text(puzzle)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.strip().startswith("...")]
    assert len(lines) == (number not in GIVEN)
    for line in lines:
        path = tmp_path / puzzle.file
        path.write_text(text)
        verdict = judge_puzzle(puzzle, path)
        assert verdict.kind == UNFINISHED and f"{puzzle.file}:{line}:" in verdict.text


@pytest.mark.whole
@pytest.mark.parametrize("number", PUZZLES)
def test_a_puzzle_has_hints_hidden_sizes_and_five_wrong_answers(number: str) -> None:
    puzzle = PUZZLES[number]
    assert puzzle.title and puzzle.learns and len(puzzle.hints) >= 2 and puzzle.hidden
    assert sum(w.puzzle == number for w in WRONG_ANSWERS) >= 5
    assert {w.kind for w in WRONG_ANSWERS} <= set(KINDS)


@pytest.mark.parametrize(
    "wrong", WRONG_ANSWERS, ids=[f"{w.puzzle}-{w.title.replace(' ', '_')}" for w in WRONG_ANSWERS]
)
def test_a_wrong_answer_fails_for_the_right_reason(wrong: WrongAnswer, tmp_path: Path) -> None:
    puzzle = PUZZLES[wrong.puzzle]
    text = answers_text(puzzle)
    for old, new in wrong.changes:
        assert old in text, "the answer has what is replaced"
        text = text.replace(old, new)
    path = tmp_path / puzzle.file
    path.write_text(text)
    verdict = judge_puzzle(puzzle, path)
    assert verdict.kind == wrong.kind, verdict.text
    assert wrong.words in verdict.text


@pytest.mark.parametrize("number", ["01", "10", "22"])
def test_a_file_runs_by_itself(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    puzzle = PUZZLES[number]
    path = tmp_path / puzzle.file
    path.write_text(answers_text(puzzle))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.count("tensor(") >= 2


@pytest.mark.parametrize(
    ("text", "slug", "words"),
    [
        ("def copy(:\n", "SyntaxError", "01_copy.py:1:"),
        ("import torch\n1 / 0\n", "ZeroDivisionError", "01_copy.py:2:"),
        ("x = 1\n", "AttributeError", "copy"),
        ("def copy(N):\n    return lambda X: X\n", "no-kernel", "ran no kernel"),
        ("raise SystemExit(3)\n", "SystemExit", "01_copy.py:1:"),
    ],
)
def test_a_file_that_is_no_kernel_is_broken(
    text: str, slug: str, words: str, tmp_path: Path
) -> None:
    puzzle = PUZZLES["01"]
    path = tmp_path / puzzle.file
    path.write_text(text)
    verdict = judge_puzzle(puzzle, path)
    assert (verdict.kind, verdict.slug) == ("broken", slug)
    assert words in verdict.text


def test_only_the_first_findings_are_printed(tmp_path: Path) -> None:
    puzzle = PUZZLES["13"]
    path = tmp_path / puzzle.file
    unordered = re.sub(r"^ *T\.(set|wait)_flag\(.*\n", "", answers_text(puzzle), flags=re.M)
    path.write_text(
        unordered.replace("in T.serial(2):", "in T.serial(2):\n                    pass")
    )
    verdict = judge_puzzle(puzzle, path)
    assert verdict.kind == FINDING and verdict.text.count("error[") == 3
    assert re.search(r"and \d more: mend these first$", verdict.text)


def test_a_file_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "01_copy.py"
    path.write_text("while True:\n    pass\n")
    verdict = judge_apart.judge_apart(PUZZLES["01"], path, 0.5)
    assert (verdict.kind, verdict.slug) == ("late", "time-limit")


@pytest.mark.parametrize(
    ("number", "option", "words"),
    [
        ("12", '"tl.ascend_auto_sync": True', "order of the pipes"),
        ("13", '"tl.ascend_auto_sync": True', "order of the pipes"),
        ("20", "T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True", "order of the pipes"),
        ("14", '"tl.ascend_auto_cross_core_sync": True', "order between cores"),
        ("17", '"tl.ascend_overlap_loops": True', "overlap of iterations"),
        ("18", '"tl.ascend_persistent": True', "which core does which blocks"),
    ],
)
def test_an_option_that_takes_the_lesson_away(
    number: str, option: str, words: str, tmp_path: Path
) -> None:
    """Whether the kernel is right by then or not."""
    puzzle = PUZZLES[number]
    path = tmp_path / puzzle.file
    for text in (answers_text(puzzle), learners_text(puzzle)):
        jit = re.search(r"@T.jit\((out_idx=.*?)(?:, pass_configs=(.*))?\)\n", text)
        assert jit is not None
        before = f"**{jit[2]}, " if jit[2] else ""
        own = f"@T.jit({jit[1]}, pass_configs={{{before}{option}}})\n"
        text = re.sub(
            r"T\.(set|wait)_cross_flag\(.*\)", "pass", text
        )  # with flags it has no effect
        path.write_text(text.replace(jit[0], own))
        verdict = judge_puzzle(puzzle, path)
        assert (verdict.kind, verdict.slug) == ("automatic", "left-to-compiler"), verdict.text
        assert words in verdict.text


def test_the_command_leads_from_start_to_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # The process of the judge is tested above; here it is this one.
    monkeypatch.setattr(
        judge_apart, "judge_apart", lambda puzzle, path, _: judge_puzzle(puzzle, path)
    )
    assert main(["puzzles", "start", "01"]) == 0
    assert main(["puzzles", "start", "1"]) == 1
    assert "error[puzzle-exists]" in capsys.readouterr().err
    assert main(["puzzles", "check", "01"]) == 1
    told = capsys.readouterr().out
    assert ": replace `...` by your part" in told and "puzzles hint 01" in told
    for number in (1, 2):
        assert main(["puzzles", "hint", "copy"]) == 0
        assert f"{number} of 2: " in capsys.readouterr().out
    assert main(["puzzles", "hint", "01"]) == 0
    assert "puzzles answer 01" in capsys.readouterr().out
    Path("01_copy.py").write_text(answers_text(PUZZLES["01"]))
    assert main(["puzzles", "check", "01"]) == 0
    assert "next: tile-ascend puzzles start 02" in capsys.readouterr().out
    assert main(["puzzles"]) == 0
    assert "1 of 22 solved" in capsys.readouterr().out
    stored = json.loads(Path("puzzles.json").read_text())["01"]
    assert stored["solved"] and stored["checks"] == 2 and stored["hints"] == 2
    assert main(["puzzles", "page"]) == 0
    assert "1 of 22 solved" in Path("puzzles.html").read_text()
    assert main(["puzzles", "start", "all"]) == 0
    assert len(list(Path().glob("*.py"))) == 22
    assert Path("01_copy.py").read_text() == answers_text(PUZZLES["01"])
    assert main(["puzzles", "answer", "12"]) == 0
    assert "T.pipe_barrier" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["check", "23"], "no-such-puzzle"),
        (["check", "02"], "puzzle-file"),
        (["start", "nothing"], "no-such-puzzle"),
    ],
)
def test_a_wrong_number_or_a_missing_file_is_an_error(
    words: list[str],
    slug: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["puzzles", *words]) == 1
    told = capsys.readouterr().err
    assert f"error[{slug}]" in told and "hint: " in told


def test_progress_keeps_the_best_and_survives(tmp_path: Path) -> None:
    right = PuzzleVerdict(RIGHT, microseconds=9.0, share=0.5)
    one = Progress().after(right).after(PuzzleVerdict(SLOW, microseconds=30.0))
    assert (one.checks, one.solved, one.state, one.best) == (2, True, "solved", 9.0)
    assert one.after(PuzzleVerdict(RIGHT, microseconds=8.0, share=0.6)).best == 8.0
    write_progress(tmp_path, {"03": one})
    assert read_progress(tmp_path) == {"03": one}
    (tmp_path / "puzzles.json").write_text("[1]")
    with pytest.raises(Exception, match="puzzle-progress"):
        read_progress(tmp_path)


def test_the_page_shows_every_puzzle_and_escapes_what_it_shows() -> None:
    page = progress_page(all_puzzles(), {"01": Progress(3, 1, True, RIGHT, 9.8, 0.27)})
    assert all(f'id="p{number}"' in page for number in PUZZLES)
    assert "9.8 µs modelled" in page and "27 % of the roofline" in page and "3 checks" in page
    assert "<code>T.copy</code>" in page and "prefers-color-scheme: dark" in page
    assert "puzzles start 02" in page


def test_a_puzzle_is_found_by_number_name_and_file() -> None:
    assert {find_puzzle(t).number for t in ("05", "5", "row_sums", "05_row_sums.py")} == {"05"}
