"""Bind the arguments of operation calls to the operands and attributes of their records."""
