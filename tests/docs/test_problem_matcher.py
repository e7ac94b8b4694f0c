"""The matchers of docs/use/command_line.md find what a script and the commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from forked_python import run_python

ROOT = Path(__file__).parents[2]

SCRIPT = """import torch
import tile_frontend as T

@T.jit(out_idx=[-1])
def add(N):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(1, is_npu=True, threads=2) as cid:
            a = T.alloc_shared((64,), "float32")
            T.copy({source}[0], a)
            T.copy(a, C[{at}])

    return kernel

add(64)(torch.zeros(64))
"""


def matchers() -> list[dict[str, Any]]:
    text = (ROOT / "docs/use/command_line.md").read_text()
    task = json.loads(re.findall(r"```json\n(.*?)```", text, re.S)[-1])["tasks"][0]
    return [m["pattern"] for m in task["problemMatcher"]]


def matched(printed: str) -> list[dict[str, str]]:
    found = []
    for pattern in matchers():
        parts = {k: v for k, v in pattern.items() if k != "regexp"}
        for line in printed.splitlines():
            if match := re.match(pattern["regexp"], line):
                found.append({name: match[group] for name, group in parts.items()})
    return found


MAIN = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"


@pytest.mark.parametrize(
    "command, source, at, code, line",
    [
        (["{script}"], "B", 0, "unknown-name", 10),
        (["{script}"], "A", 4, "output-not-written", 7),
        (["-c", MAIN, "check", "{script}:add", "-a", "N=64"], "B", 0, "unknown-name", 10),
    ],
    ids=["error", "warning", "command"],
)
def test_what_is_printed(
    command: list[str], source: str, at: int, code: str, line: int, tmp_path: Path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPT.format(source=source, at=at))
    done = run_python([part.format(script=script) for part in command], cwd=tmp_path)
    found = [m for m in matched(done.stdout + done.stderr) if m["code"] == code]
    assert found, done.stdout + done.stderr
    assert Path(found[0]["file"]).name == "program.py"
    assert int(found[0]["line"]) == line and found[0]["message"]
