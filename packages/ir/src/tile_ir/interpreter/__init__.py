"""The reference interpreter: executes a function at any phase up to PIPELINED with NumPy."""

from tile_ir.interpreter.run import InterpretError, interpret, interpret_ranks

__all__ = ["InterpretError", "interpret", "interpret_ranks"]
