"""Compute the places of elements: shapes, strides, fractals, operand forms."""
