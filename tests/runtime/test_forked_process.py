"""Functions in processes of their own: what they return and print, how they end, and what ends with
them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tile_ir.switches import override
from tile_runtime.scripts import forked_process
from tile_runtime.scripts.forked_process import answer_forked

LIMIT = 300.0


@pytest.fixture(autouse=True)
def nothing_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of this process need not import torch."""
    monkeypatch.setattr(forked_process, "_PRELOADED", ())


def test_what_a_function_returns_and_prints(tmp_path: Path) -> None:
    answer = answer_forked(os.getcwd, seconds=LIMIT, folder=str(tmp_path))
    assert answer.value == str(tmp_path) and answer.printed == "" and not answer.late
    with override(check="strict"):
        told = answer_forked(
            eval,
            "(print('said'), __import__('tile_ir.switches').switches.switch('check'))[1]",
            seconds=LIMIT,
        )
    assert told.value == "strict" and told.printed == "said\n"
    word = "__import__('os').environ['TILE_TIME'] + __import__('sys').stdin.read()"
    assert answer_forked(eval, word, seconds=LIMIT, switches={"time": True}).value == "1"


@pytest.mark.whole
@pytest.mark.parametrize(
    "text, printed",
    [
        ("__import__('os')._exit(3)", ""),
        ("1 / 0", "ZeroDivisionError"),
        ("__import__('os').kill(__import__('os').getpid(), 11)", "Segmentation fault"),
    ],
)
def test_a_process_that_ends_without_an_answer(text: str, printed: str) -> None:
    answer = answer_forked(eval, text, seconds=LIMIT)
    assert answer.value is None and printed in answer.printed and not answer.late


def test_a_process_whose_time_is_up_ends_with_all_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    text = (
        f"__import__('subprocess').Popen(['sh', '-c', 'echo $$ > {started}; sleep 1000000']),"
        "__import__('time').sleep(1e6)"
    )
    answer = answer_forked(eval, text, seconds=2.0)
    assert answer.value is None and answer.late
    # One that ends while what it started goes on is waited for no longer.
    left = "__import__('subprocess').Popen(['sleep', '1000000'], start_new_session=True) and 'done'"
    assert answer_forked(eval, left.replace("1000000", "5"), seconds=LIMIT).value == "done"
    # On a busy machine the time may have been up before the other process had a number.
    number = started.read_text().strip() if started.exists() else ""
    until = time.monotonic() + 60
    while number and _lives(number) and time.monotonic() < until:
        time.sleep(0.01)
    assert not (number and _lives(number))


def _lives(number: str) -> bool:
    """Whether a process runs; one that has ended has no command line."""
    try:
        return bool(Path(f"/proc/{number}/cmdline").read_bytes())
    except OSError:
        return False
