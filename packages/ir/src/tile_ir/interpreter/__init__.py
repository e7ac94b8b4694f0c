"""The reference interpreter: executes a function at any phase up to PIPELINED with NumPy."""

from tile_ir.interpreter.interpret import interpret, interpret_ranks
from tile_ir.interpreter.run import InterpretError

__all__ = ["InterpretError", "interpret", "interpret_ranks"]
