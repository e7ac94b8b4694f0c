"""A notebook, run as Jupyter runs it: reports are pages, and errors show cells, not our frames."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="pip install nbclient nbformat ipykernel")
nbformat = pytest.importorskip("nbformat", reason="pip install nbformat")
pytest.importorskip("ipykernel", reason="pip install ipykernel")

KERNEL = """\
import torch

import tile_frontend as T


@T.jit(out_idx=[-1])
def doubled(n, size=64):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(2, threads=1) as b:
            a = T.alloc_shared((size,), "float32")
            T.copy(A[b * 64], a[0:64])
            T.tile.add(a, a, a)
            T.copy(a[0:64], B[b * 64])

    return kernel
"""
CELLS = (
    KERNEL,
    "doubled(128).report(torch.ones(128))",
    "doubled(128).timeline()",
    "def outer():\n    return doubled(128, 100000)\n\n\nouter()",
    "doubled(128)(torch.ones(128).half())",
    "doubled(128, 32)",
    "doubled(128).report(torch.ones(64))",
    "1 / 0",
    "T.perf_report(doubled, 'n', [128, 256])",
)  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What stands below each cell."""
    folder = tmp_path_factory.mktemp("notebook")
    packages = [str(p) for p in Path(__file__).parents[2].glob("packages/*/src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages), "IPYTHONDIR": str(folder)}
    environment.pop("TILE_DEBUG", None)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.execute(env=environment)
    return [cell.outputs for cell in notebook.cells]


def shown(outputs: list[Any]) -> Any:
    """What the last line of a cell is shown as."""
    (found,) = [o.data for o in outputs if o.output_type == "execute_result"]
    return found


def error(outputs: list[Any]) -> str:
    (found,) = [o for o in outputs if o.output_type == "error"]
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(found.traceback))


def test_a_report_is_a_page(outputs: list[Any]) -> None:
    report = shown(outputs[1])
    assert "<iframe srcdoc=" in report["text/html"]
    assert "Bound by" in report["text/plain"] and "array(" not in report["text/plain"]
    timeline = shown(outputs[2])
    curves = shown(outputs[8])
    assert "<svg" in curves["text/html"] and "with launch" in curves["text/plain"]
    assert "<svg" in timeline["text/html"] and timeline["text/plain"].startswith("<timeline: ")


def test_errors_show_the_cells(outputs: list[Any]) -> None:
    overflow, dtype, index, shape, other = map(error, outputs[3:8])
    assert overflow.splitlines()[:5] == [
        "Cell In[4], line 5",
        "    outer()",
        "Cell In[4], line 2, in outer",
        "    return doubled(128, 100000)",
        overflow.splitlines()[4],
    ]
    assert overflow.splitlines()[4].startswith("In[1]:11:17: error[memory-overflow]: ")
    assert "Cell In[5], line 1\n" in dtype and "error[call-dtype]" in dtype
    assert "Cell In[6], line 1\n" in index and "In[1]:12:" in index
    assert "Cell In[7], line 1\n" in shape and "error[call-shape]" in shape
    for said in (overflow, dtype, index, shape):
        assert "Traceback" not in said and "tile_" not in said and "ipykernel" not in said
    # Errors of others stay as they are.
    assert "ZeroDivisionError" in other and "Traceback" in other
