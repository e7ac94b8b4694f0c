"""Layouts of L1 matrices, under the name scripts import them from."""

from tile_frontend._tracing.allocation import make_nz_layout, make_zn_layout

__all__ = ["make_nz_layout", "make_zn_layout"]
