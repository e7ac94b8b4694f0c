"""Run a kernel by its meaning: on one device, or on several together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_ir.chips import DEFAULT_TARGET
from tile_ir.interpreter.run import MAX_WHILE_STEPS, Machine
from tile_ir.nodes import Func
from tile_ir.target import Target


def interpret(
    func: Func,
    arguments: Sequence[Any],
    *,
    target: Target = DEFAULT_TARGET,
    while_iterations: int = MAX_WHILE_STEPS,
    in_text_order: bool = False,
) -> str:
    """Run a kernel on NumPy arrays, which it changes in place; returns what it printed.

    `in_text_order`: the cores of a block go through the text together, statement by statement. That
    is the meaning of a kernel whose order between cores is left to the compiler. Otherwise each
    core runs by itself until it waits.

    `arguments` follow the parameters: an array in stored form for a tensor (bfloat16 as uint16), a
    number for a scalar. Symbolic dimensions are read off the arrays. A `while` with more than
    `while_iterations` iterations counts as endless. Raises InterpretError.
    """
    return Machine(func, [arguments], target, while_iterations, in_text_order).run()


def interpret_ranks(
    func: Func,
    arguments: Sequence[Sequence[Any]],
    *,
    target: Target = DEFAULT_TARGET,
    while_iterations: int = MAX_WHILE_STEPS,
    in_text_order: bool = False,
) -> str:
    """Run a kernel on several ranks together: `arguments` has those of each rank, as `interpret`
    takes them. Returns the printed text of all. Raises InterpretError."""
    return Machine(func, arguments, target, while_iterations, in_text_order).run()
