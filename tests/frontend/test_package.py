"""The package as a whole: what importing costs, what it offers, how fast it is."""

import subprocess
import sys
import time

import pytest

import tile_frontend as T

IMPORTED = """
import sys
import tile_frontend
print(sorted({"numpy", "torch", "lark", "networkx", "jinja2"} & set(sys.modules)))
"""


def test_importing_brings_nothing_heavy():
    """How long it takes is a row of `tile-ascend bench`."""
    environment = {"PYTHONPATH": ":".join(p for p in sys.path if p)}
    output = subprocess.run(
        [sys.executable, "-c", IMPORTED], env=environment, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert output.strip() == "[]"


def test_removed_names_say_what_to_write():
    with pytest.raises(AttributeError, match="T.alloc_local does not exist: allocate with"):
        T.alloc_local
    with pytest.raises(AttributeError, match="T.multiply does not exist: write T.tile.mul"):
        T.multiply
    with pytest.raises(AttributeError, match="T.tile has no operation `nothing`"):
        T.tile.nothing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        T.nothing


def test_names_can_be_listed_and_star_imported():
    assert {"copy", "prim_func", "jit", "tile"} <= set(dir(T))
    assert {"add", "max"} <= set(dir(T.tile))
    names = {}
    exec("from tile_frontend import prim_func, alloc_ub, serial", names)
    assert names["serial"] is T.serial


@pytest.mark.times
def test_tracing_is_fast():
    lines = [
        "import tile_frontend as T",
        "@T.prim_func",
        "def k(A: T.Tensor((4096, 64), 'float32')):",
    ]
    lines.append("    with T.Kernel(4) as (cid, vid):")
    lines += [f"        u{i} = T.alloc_ub((64, 64), 'float32')" for i in range(10)]
    for i in range(47):
        lines.append(f"        for k in T.serial({i + 2}):")
        lines.append(
            f"            T.copy(A[k * 64 + cid * {i}:(k + 1) * 64 + cid * {i}, :], u{i % 10})"
        )
        lines.append(f"            T.tile.add(u{i % 10}, u{(i + 1) % 10}, u{(i + 2) % 10})")
        lines.append(f"            T.copy(u{i % 10}, A[k * 64, 0])")
    text = "\n".join(lines) + "\n"
    import linecache

    best = float("inf")
    for attempt in range(5):
        name = f"<traced {attempt}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        code = compile(text, name, "exec")
        names = {}
        start = time.process_time()
        exec(code, names)
        best = min(best, time.process_time() - start)
    assert len(names["k"].launch.body) == 47
    assert best < 0.06  # of the processor: other work on the machine does not count
