"""`tile-ascend report` and `tile-ascend tune --quick` of a slow kernel, from the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from end_to_end.slow_kernels.corpus import CORPUS
from tile_runtime.tools.command_line import main

pytestmark = pytest.mark.usefixtures("quick_kernels")

SIZES = ["-a", "n=131072", "-a", "block=16384"]


@pytest.mark.exhaustive
def test_a_report_tries_changes(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = CORPUS["cast_copy"].source
    assert main(["report", kernel, *SIZES, "--tries", "4", "--text"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\n  do: .*: predicted .* -> .* \(\d+\.\d\dx\)\n", said)
    assert "changes tried (" in said
    assert main(["report", kernel, *SIZES, "--tries", "0", "--text"]) == 0
    assert "predicted" not in capsys.readouterr().out


@pytest.mark.exhaustive
def test_steps_until_nothing_helps(capsys: pytest.CaptureFixture[str]) -> None:
    source = CORPUS["cast_copy"].source
    text = Path(source.rpartition(":")[0]).read_text()
    assert main(["tune", "--quick", source, *SIZES, "--tries", "4"]) == 0
    said = capsys.readouterr().out
    times = [float(t) for t in re.findall(r"^step \d+: ([\d.]+) µs\.", said, re.MULTILINE)]
    assert len(times) >= 2 and times == sorted(times, reverse=True)
    assert re.search(r"^[\d.]+ µs -> [\d.]+ µs \(\d+\.\d\dx\)$", said, re.MULTILINE)
    assert "\n+" in said or "arguments: " in said
    assert Path(source.rpartition(":")[0]).read_text() == text


def test_what_to_tune_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune"]) == 1
    assert "nothing to tune" in capsys.readouterr().err
    assert main(["tune", "--quick", "rows.py"]) == 1
    assert "expected script.py:name" in capsys.readouterr().err
