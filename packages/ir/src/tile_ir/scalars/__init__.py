"""Simplify scalar expressions: constants, and sums in canonical form."""
