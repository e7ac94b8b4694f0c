"""Formulas with fewer instructions: equal to the text within roundings, and never with more."""

from __future__ import annotations

import ast
import math
import random
from types import SimpleNamespace
from typing import Any

import pytest

from tile_runtime.tuning.advice.formula_edits import formula_edits
from tile_runtime.tuning.advice.formulas import instructions, shorter_formula
from tile_runtime.tuning.advice.kernel_text import KernelText
from tile_runtime.tuning.advice.program import Program, apply_change

FUNCTIONS = SimpleNamespace(
    tanh=math.tanh, erf=math.erf, exp=math.exp, abs=abs, round=round, sqrt=lambda v: math.sqrt(abs(v)),
    sigmoid=lambda v: 1 / (1 + math.exp(-v)), max=max, cast=lambda v, _: v,
)  # fmt: skip


def is_row(node: ast.expr) -> bool:
    """As in a loop over i and j: what has no j."""
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return bool(used) and "j" not in used and not used & {"x", "z"}


def shorter(text: str) -> str | None:
    return shorter_formula(ast.parse(text, mode="eval").body, is_row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x * T.sigmoid(x)", "x / (1.0 + T.exp(-x))"),
        ("0.5 * x * (1.0 + T.tanh(z))", "x / (1.0 + T.exp(-2.0 * z))"),
        ("1 - T.tanh(z)", "2.0 / (1.0 + T.exp(2.0 * z))"),
        ("T.exp(0.5 * (x + 0.25 * x * x * x))", "T.exp(x * (0.5 + 0.125 * x * x))"),
        ("y[i, j] / s[i]", "y[i, j] * (1.0 / s[i])"),
        ("T.cast(T.round(y[i, j] / s[i]), 'int8')", "T.cast(T.round(y[i, j] * (1.0 / s[i])), 'int8')"),
        ("2.0 * x * 3.0", "6.0 * x"),
        ("x * z + x * x", "x * (z + x)"),
        ("x + z", None),
        ("x / z", None),
        ("x / N", None),
        ("y[i, j] / 127.0", None),
        ("T.tanh(x)", None),
        ("T.max(x, 0.0) - s[i]", None),
    ],
)  # fmt: skip
def test_formulas(text: str, expected: str | None) -> None:
    assert shorter(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T.tanh(x)", "1.0 - 2.0 / (1.0 + T.exp(2.0 * x))"),
        ("30.0 * T.tanh(x / 30.0)", "30.0 * (1.0 - 2.0 / (1.0 + T.exp(0.06666666667 * x)))"),
        ("x * (1.0 + T.tanh(z))", "2.0 * x / (1.0 + T.exp(-2.0 * z))"),
        ("T.erf(x)", "1.0 - 2.0 / (1.0 + T.exp(2.256758334 * x * (1.0 + 0.08943 * x * x)))"),
        (
            "0.5 * x * (1.0 + T.erf(x * 0.70710678))",
            "x / (1.0 + T.exp(-1.595769119 * x * (1.0 + 0.04471499985 * x * x)))",
        ),
        ("x + z", None),
    ],
)
def test_tanh_as_a_difference(text: str, expected: str | None) -> None:
    assert shorter_formula(ast.parse(text, mode="eval").body, is_row, True) == expected


@pytest.mark.parametrize("text", ["T.erf(x)", "x * (0.5 - 0.5 * T.erf(x))", "T.erf(x * z) / z"])
def test_erf_without_it_is_near(text: str) -> None:
    found = shorter_formula(ast.parse(text, mode="eval").body, is_row, True)
    assert found is not None
    assert "erf" not in found
    for x in range(-60, 61):
        values = {"x": x / 10, "z": 1.25, "T": FUNCTIONS}
        assert eval(found, values) == pytest.approx(eval(text, values), abs=5e-4)


def random_formula(choose: random.Random, depth: int) -> str:
    if depth == 0:
        return choose.choice(["x", "z", "y[i, j]", "s[i]", "0.5", "-1.5", "2.0", "3"])
    one, other = (random_formula(choose, depth - 1) for _ in range(2))
    kind = choose.choice(["+", "-", "*", "*", "/", "f", "neg", "tanh"])
    if kind == "f":
        return f"T.{choose.choice(['sigmoid', 'abs', 'sqrt'])}({one})"
    if kind == "tanh":
        return f"({choose.choice(['1.0 +', '0.5 - 0.5 *', '1.0 -'])} T.tanh({one}))"
    return f"(-{one})" if kind == "neg" else f"({one} {kind} {other})"


@pytest.mark.parametrize("seed", range(8))
def test_random_formulas_keep_their_value(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(40):
        text = random_formula(choose, choose.choice((2, 3, 4)))
        node = ast.parse(text, mode="eval").body
        found = shorter_formula(node, is_row, choose.random() < 0.5)
        if found is None:
            continue
        count = [instructions(ast.parse(t, mode="eval").body, is_row) for t in (text, found)]
        assert count[1] < count[0]
        for _ in range(3):
            values: dict[str, Any] = {n: choose.uniform(-2, 2) for n in ("x", "z")}
            values |= {"y": {(0, 0): choose.uniform(-2, 2)}, "s": {0: choose.uniform(0.5, 2)}}
            values |= {"i": 0, "j": 0, "T": FUNCTIONS}
            try:
                before = eval(text, values)
                after = eval(found, values)
            except (ZeroDivisionError, OverflowError):
                continue
            assert after == pytest.approx(before, rel=1e-6, abs=1e-6), (text, found)


KERNEL = """\
def f(M, N):
    with T.Kernel(M) as cid:
        for i, j in T.Parallel(M, N):
            x = T.cast(g[i, j], "float32")
            inner = 0.5 * (
                x + 0.25 * x * x * x
            )
            y[i, j] = 0.5 * x * (1.0 + T.tanh(inner))
        for i, j in T.Parallel(M, N):
            y[i, j] = y[i, j] / s[i]
        for i in T.serial(M):
            y[i, 0] = y[i, 0] * T.sigmoid(y[i, 0])
"""


def test_names_from_before_a_store_stay() -> None:
    text = KERNEL.replace("            inner =", "            g[i, j] = 0.0\n            inner =")
    changed = [e.says for e in formula_edits(KernelText(Program("s.py", text, "f")))]
    assert "lines 6, 9" in changed[1]
    moved = text.replace(
        "            y[i, j] = 0.5", "            h[i, j] = 0.0\n            y[i, j] = 0.5"
    )
    (_, first, _) = formula_edits(KernelText(Program("s.py", moved, "f")))
    assert first.says == "`y[i, j] = x / (1.0 + T.exp(-2.0 * inner))` in place of line 10"


def test_edits_take_names_in_and_remove_their_lines() -> None:
    program = Program("script.py", KERNEL, "f")
    all_of_them, first, second = formula_edits(KernelText(program))
    assert (
        apply_change(program, all_of_them).text
        == """\
def f(M, N):
    with T.Kernel(M) as cid:
        for i, j in T.Parallel(M, N):
            x = T.cast(g[i, j], "float32")
            y[i, j] = x / (1.0 + T.exp(x * (-1.0 - 0.25 * x * x)))
        for i, j in T.Parallel(M, N):
            y[i, j] = y[i, j] * (1.0 / s[i])
        for i in T.serial(M):
            y[i, 0] = y[i, 0] * T.sigmoid(y[i, 0])
"""
    )
    assert first.says.endswith("in place of lines 5, 8")
    assert second.says == "`y[i, j] = y[i, j] * (1.0 / s[i])` in place of line 10"
    for change in (first, second):
        compile(apply_change(program, change).text, "script.py", "exec")
