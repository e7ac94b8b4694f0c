"""Execute a function with NumPy, at any phase up to PIPELINED, as the reference."""

from tile_ir.interpreter.interpret import interpret, interpret_ranks
from tile_ir.interpreter.run import InterpretError

__all__ = ["InterpretError", "interpret", "interpret_ranks"]
