"""Macros another file uses, as libraries of kernels have them."""

import tile_frontend as T

SCALE = 3.0


class Limits:
    ROWS = 2


@T.macro
def scale(buffer, factor=SCALE):
    for i in T.serial(Limits.ROWS):
        T.tile.mul(buffer[i, :], buffer[i, :], factor)


@T.macro
def outer(buffer):
    scale(buffer, factor=later())
    inner_defined_below(buffer)


@T.macro
def inner_defined_below(buffer):
    T.tile.exp(buffer, buffer)


def later():
    return 2.0
