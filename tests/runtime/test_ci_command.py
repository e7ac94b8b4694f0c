"""`tile-ascend ci` on a sample repository: planted mistakes are found at their lines, a slower kernel
is told, a clean change passes, and what has been judged is not run again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sample_repository import (
    BAD,
    CLEAN,
    SCALE,
    SHIFT,
    SLOW,
    SampleRepository,
    line_of,
)
from tile_ir.switches import override
from tile_runtime.tools.command_line import main


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(autouse=True)
def one_cache(
    fresh_switches: None, module_cache: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """What one test judges another one need not."""
    with override(cache_dir=module_cache, prove=False, verify_each=False):
        yield


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> SampleRepository:
    return SampleRepository(tmp_path_factory.mktemp("sample") / "repository")


@dataclass(frozen=True)
class Judged:
    """How the command ended and what it printed and wrote."""

    code: int
    out: str
    err: str
    sarif: dict[str, Any]
    summary: str

    @property
    def found(self) -> dict[tuple[str, str], int]:
        """The line of each finding, by file and slug."""
        places = {}
        for result in self.sarif["runs"][0]["results"]:
            place = result["locations"][0]["physicalLocation"]
            file = place["artifactLocation"]["uri"]
            places[file, result["ruleId"]] = place["region"]["startLine"]
        return places


def judge(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, *words: str,
) -> Judged:  # fmt: skip
    monkeypatch.chdir(repository.root)
    written = repository.root.parent
    sarif, summary = written / "found.sarif", written / "summary.md"
    summary.write_text("Before.\n")
    capfd.readouterr()
    code = main(["ci", *words, "--sarif", str(sarif), "--summary", str(summary)])
    out, err = capfd.readouterr()
    return Judged(code, out, err, json.loads(sarif.read_text()), summary.read_text())


def test_mistakes_are_found_at_their_lines(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.branch("bad", BAD)
    judged = judge(repository, capfd, monkeypatch, "--base", "main", "--annotate")
    assert judged.code == 1
    lines = judged.found
    assert lines["scale.py", "wrong-result"] == line_of(SCALE, "assert_close")
    assert lines["lib/shift.py", "wrong-result"] == line_of(SHIFT, "def kernel")
    assert lines["lib/expert.py", "race"] == line_of(BAD["lib/expert.py"], "T.tile.add")
    assert lines["twice.cpp", "race"] == line_of(BAD["twice.cpp"], "    Add(")
    assert {file for file, _ in lines} == {"scale.py", "lib/shift.py", "lib/expert.py", "twice.cpp"}
    # Lines for runners of workflows, and the source line for people.
    assert (
        f"::error file=scale.py,line={lines['scale.py', 'wrong-result']},title=wrong-result::"
        in judged.out
    )
    assert "    Add(values, values, values, 64);\n" in judged.out
    assert judged.summary.startswith("Before.\n### Kernels: 4 files judged against ")
    assert f"- `twice.cpp:{lines['twice.cpp', 'race']}` error `race`: " in judged.summary


def test_a_slower_kernel_is_told(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is touched is a file that its script imports."""
    repository.branch("slow", SLOW)
    judged = judge(repository, capfd, monkeypatch, "--base", "main")
    kernel = line_of(SCALE, "def kernel")
    assert judged.found == {("scale.py", "slower"): kernel}
    assert judged.code == 1
    rows = [line for line in judged.summary.splitlines() if line.startswith("| scale[M=128, N=64]")]
    assert len(rows) == 1
    _, _, before, after, change, _ = (cell.strip() for cell in rows[0].split("|"))
    part = float(after) / float(before) - 1
    assert part > 0.2 and change.startswith("+")
    again = judge(repository, capfd, monkeypatch, "--base", "main", "--slower", "1000%")
    assert again.code == 0 and again.found == {}
    assert again.err.count(": judged before") == 2 and "running" not in again.err


def test_a_clean_change_passes_and_is_judged_once(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.branch("clean", CLEAN)
    judged = judge(repository, capfd, monkeypatch, "--base", "main")
    assert judged.code == 0 and judged.found == {}
    assert "| shift[N=128] (33x128) |" in judged.summary
    assert judged.out.splitlines()[-1].endswith(", 0 of them before: 0 errors, 0 warnings")
    # On top of it a file that nothing here reads.
    repository.write({"README.md": "changed\n"})
    again = judge(repository, capfd, monkeypatch, "--base", "main", "lib")
    assert again.code == 0 and "running" not in again.err
    assert again.out.splitlines()[-1].endswith(", 1 of them before: 0 errors, 0 warnings")
    (repository.root / "README.md").unlink()


def test_what_is_not_committed_counts(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.branch("open", {})
    assert judge(repository, capfd, monkeypatch).out.startswith("0 files judged against ")
    new = SHIFT.replace("# tile-ascend: shift(N=128, m=33)", "# its users give the sizes")
    repository.write({"new.py": new})
    judged = judge(repository, capfd, monkeypatch)
    assert judged.code == 0 and judged.found == {("new.py", "not-run"): 1}
    (repository.root / "new.py").unlink()


def test_how_a_script_ends(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exceptions, exit codes, processes that die, and those that do not end; and a package."""
    start = "import tile_frontend as T\n"
    scripts = {
        "broken.py": start + "x = 1 +\n",
        "raises.py": start + "def f():\n    return [][1]\n\n\nf()\n",
        "leaves.py": start + "import sys\n\nsys.exit(3)\n",
        "dies.py": start + "import os\n\nos.kill(os.getpid(), 11)\n",
        "package/__init__.py": start + "from . import other\n",
        "folder/inner.py": start + "from .values import VALUE\n\nassert VALUE\n",
        "folder/values.py": "VALUE = 0\n",
        "package/part.py": "from . import other\n" + start + "\nassert other.VALUE == 2, 'other'\n",
        "package/other.py": "VALUE = 1\n",
    }
    repository.branch("ends", scripts)
    judged = judge(repository, capfd, monkeypatch, "--base", "main")
    assert judged.code == 1
    assert judged.found == {
        ("broken.py", "python-error"): 1,
        ("raises.py", "python-error"): 3,
        ("leaves.py", "exit-status"): 4,
        ("dies.py", "run-failed"): 4,
        ("package/part.py", "wrong-result"): 4,
        ("folder/inner.py", "wrong-result"): 4,
    }


def test_a_script_that_does_not_end(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stays = "import tile_frontend as T\nimport time\n\ntime.sleep(1e6)\n"
    repository.branch("stays", {"stays.py": stays})
    judged = judge(repository, capfd, monkeypatch, "--base", "main", "--timeout", "1")
    assert judged.code == 1 and judged.found == {("stays.py", "time-limit"): 4}


def test_without_a_base_all_of_the_paths_are_judged(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.branch("whole", {})
    judged = judge(repository, capfd, monkeypatch, "--base", "none", "lib")
    assert judged.code == 0
    assert judged.out.splitlines()[-1].startswith("2 files judged, ")
    assert (
        "| shift[N=128] (33x128) | - | " in judged.summary and "| double | - | " in judged.summary
    )


def test_a_base_that_git_does_not_know(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.root)
    assert main(["ci", "--base", "nothing"]) == 1
    assert "error[git]: git rev-parse failed" in capfd.readouterr().err


def test_the_sarif_is_of_version_2_1_0(
    repository: SampleRepository, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.branch("bad", BAD)
    sarif = judge(repository, capfd, monkeypatch, "--base", "main").sarif
    assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json")
    (run,) = sarif["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        for place in (*result["locations"], *result["relatedLocations"]):
            physical = place["physicalLocation"]
            assert not Path(physical["artifactLocation"]["uri"]).is_absolute()
            assert physical["region"]["startLine"] >= 1 and physical["region"]["startColumn"] >= 1
