"""Shorter formulas that a report advises keep the results of newcomers' kernels, at `strict`, at
sizes with edges."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kept_cases import kept

from end_to_end.newcomers import newcomer
from tile_runtime.tools.command_line.kernel_program import kernel_program, program_kernel
from tile_runtime.tuning.advice.formula_edits import formula_edits
from tile_runtime.tuning.advice.kernel_text import KernelText
from tile_runtime.tuning.advice.program import Program, apply_change

# Kernels with formulas that can be shorter.
SHORTER = ["bmm_silu", "decode_attention", "depthwise", "gelu_quantise"]


def program_of(name: str, sizes: dict[str, int]) -> Program:
    return kernel_program(f"{newcomer(name).__file__}:kernel", sizes)


def results(program: Program, inputs: list[Any]) -> list[Any]:
    made = program_kernel(program)(*[x.clone() for x in inputs])
    return list(made) if isinstance(made, (list, tuple)) else [made]


@pytest.mark.whole
@pytest.mark.parametrize("name", kept(SHORTER, 1))
def test_shorter_formulas_keep_the_results(strict: None, name: str) -> None:
    sizes = newcomer(name).SMALL[0]
    program = program_of(name, sizes)
    torch.manual_seed(0)
    inputs = newcomer(name).inputs(**sizes)
    edit = next(formula_edits(KernelText(program)))
    found = results(apply_change(program, edit), inputs)
    for ours, theirs in zip(found, newcomer(name).expected(*inputs), strict=True):
        assert float((ours.double() - theirs.double()).abs().max()) <= newcomer(name).TOLERANCE
