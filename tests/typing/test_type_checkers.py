"""What mypy, pyright and jedi say of scripts: nothing of the examples, and each wrong line is
found."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tile_frontend as T

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted([*ROOT.glob("examples/*.py"), *ROOT.glob("examples/developer/*.py")])
# Every line with a comment is wrong, and no other is.
WRONG = """\
import tile_frontend as T


@T.jit(out_idx=[-1])
def factory(M: int, dtype: str = "float32") -> T.PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((M, 64), dtype), n: T.int32, B: T.Tensor((M, 64), dtype)) -> None:
        with T.Kernel(T.ceildiv(M, 8), is_npu=True) as (cid, vid):
            a = T.alloc_ub((8, 64), dtype)
            s = T.alloc_var("int32", init=0)
            s = s + cid * 2 + n
            T.copy(A[cid * 8, 0], a)
            for i in T.serial(T.min(8, s)):
                for j, k in T.Parallel(8, 64):
                    a[j, k] = a[j, k] * 2.0 + T.exp(a[j, k]) / (i + 1)
            T.tile.add(a[0:4, :], a[0:4, :], 1.0)
            T.reduce_sum(a, a[:, 0:1], dim=-1)
            T.tile.addd(a, a, a)  # no such operation
            T.tile.add(a, a)  # misses an operand
            T.copy(a)  # misses an operand
            T.copy(a, B[cid * 8, 0], accumulate=True)  # no such argument
            T.tile.exp(a, 1.0)  # a number where a buffer is asked for
            T.alloc_ubb((8, 64), dtype)  # no such name
            T.copy(a, B[cid * 8, 0])

    return kernel


factory(64)(1)
factory()  # misses an argument
"""
EXPECTED = {n for n, line in enumerate(WRONG.splitlines(), 1) if "  # " in line}


def needs(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    return path


def run(*command: str) -> str:
    # As from the root of a checkout: settings and paths stand in pyproject.toml.
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
    ).stdout


@pytest.mark.exhaustive
def test_mypy(wrong: Path) -> None:
    needs("mypy")
    cache = f"--cache-dir={wrong.parent / 'cache'}"
    text = run("mypy", "--strict", cache, *map(str, EXAMPLES), str(wrong))
    found = re.findall(r"^(.*?):(\d+): error", text, re.M)
    assert {f for f, _ in found} == {str(wrong)}, text
    assert {int(n) for _, n in found} == EXPECTED, text


@pytest.mark.exhaustive
def test_pyright(wrong: Path) -> None:
    needs("pyright")
    text = run(
        "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, EXAMPLES), str(wrong)
    )
    found = [
        (d["file"], d["range"]["start"]["line"] + 1, d["message"])
        for d in json.loads(text)["generalDiagnostics"]
    ]
    assert {f for f, _, _ in found} == {str(wrong)}, found
    assert {n for _, n, _ in found} == EXPECTED, found


def language_names(path: Path) -> dict[str, tuple[int, int]]:
    """Each `T.name` and `T.tile.name` of a file, with where its last part stands."""
    return {
        ast.unparse(node): (node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and re.match(r"T\.(tile\.)?\w+$", ast.unparse(node))
    }


@pytest.fixture
def jedi(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With a cache of this process: another's half-written file is an EOFError."""
    needs("jedi")
    import jedi

    monkeypatch.setattr(
        jedi.settings, "cache_directory", str(tmp_path_factory.getbasetemp() / "jedi")
    )
    return jedi


def test_jedi_knows_every_name(jedi: Any, wrong: Path) -> None:
    project = jedi.Project(ROOT, sys_path=sys.path)
    unknown = {}
    for path in (*EXAMPLES, wrong):
        script = jedi.Script(path=path, project=project)
        for name, (line, column) in language_names(path).items():
            if not script.goto(line, column - 1, follow_imports=True):
                unknown[name] = path.name
    assert unknown == {"T.tile.addd": "wrong.py", "T.alloc_ubb": "wrong.py"}


def test_jedi_shows_parameters_and_text(jedi: Any) -> None:
    script = jedi.Script("import tile_frontend as T\nT.copy(\nT.tile.add(\n")
    (copy,), (add,) = script.get_signatures(2, 7), script.get_signatures(3, 11)
    assert [p.name for p in copy.params][:3] == ["src", "dst", "enable_relu"]
    assert [p.name for p in add.params] == ["dst", "src0", "src1"]
    assert "Move a tile" in copy.docstring() and "dst = src0 + src1" in add.docstring()


@pytest.mark.parametrize(("text", "module"), [("T.", T), ("T.tile.", T.tile)])
def test_an_editor_offers_the_language_only(jedi: Any, text: str, module: ModuleType) -> None:
    """From the files alone; names with an underscore come last and are nobody's."""
    script = jedi.Script(
        f"import tile_frontend as T\n{text}", project=jedi.Project(ROOT, sys_path=sys.path)
    )
    offered = {c.name for c in script.complete(2, len(text))}
    assert {n for n in offered if not n.startswith("_")} == set(module.__all__)


def test_an_interactive_shell_offers_the_language_only(jedi: Any) -> None:
    for module in (T, T.tile):
        offered = {c.name for c in jedi.Interpreter("x.", [{"x": module}]).complete()}
        assert {n for n in offered if not n.startswith("__")} == set(module.__all__)
