"""The forms that subscripts take, as data, each with a word for what it is: those of
docs/language/index.md#subscripts, docs/language/rules.md#extents and docs/language/rules.md#edges, and
the indices of docs/language/index.md#parallel-loops.

A form of a copy has a token a dimension of the gm tensor. `P`, `R` and `C` are the planes, rows and
columns of the tile:

    R    a range            R:   all there are       <R   a prefix          R>   a suffix
    r    the start alone    R!   cut at the edge     r!   a start that is cut
    R~   behind the end     f    a fixed index       u    a range of one
"""

from __future__ import annotations

MATRIX_FORMS = {
    "whole tensor": "",
    "all": "R: C:",
    "start index": "r c",
    "ranges": "R C",
    "some rows": "R C:",
    "some columns": "R: C",
    "prefixes": "<R <C",
    "suffixes": "R> C>",
    "fixed first": "f R C",
    "fixed middle": "R f C",
    "fixed last": "R C f",
    "all, fixed last": "R: C: f",
    "fixed first and middle": "f R f C",
    "fixed middle and last": "R f C f",
    "fixed first and last": "f R C f",
    "two fixed first": "f f R C",
    "two fixed middle": "R f f C",
    "two fixed last": "R C f f",
    "start behind fixed": "f r c",
    "start behind two fixed": "f f r c",
    "one long between": "R u C",
    "one long last": "R C u",
    "one long first": "u R C",
    "cut columns": "R C!",
    "cut rows": "R! C",
    "cut rows and columns": "R! C!",
    "cut start": "r! c!",
    "cut behind fixed": "f R! C!",
    "cut around fixed": "R! f C!",
    "columns behind the end": "R C~",
    "rows behind the end": "R~ C",
}
ROW_FORMS = {
    "vector": "",
    "part of a vector": "C",
    "start in a vector": "c",
    "prefix": "<C",
    "suffix": "C>",
    "row": "f C",
    "whole row": "f C:",
    "column": "C f",
    "whole column": "C: f",
    "start in a row": "f c",
    "row between": "f C f",
    "row of a matrix": "f f C",
    "column of a matrix": "C f f",
    "cut vector": "C!",
    "cut row": "f C!",
    "cut start in a row": "f c!",
}
PLANE_FORMS = {
    "three ranges": "P R C",
    "three, all": "P: R: C:",
    "three, fixed first": "f P R C",
    "three, fixed middle": "P f R C",
    "three, fixed before last": "P R f C",
    "three, fixed last": "P R C f",
    "three, start": "p r c",
    "three, cut": "P R! C!",
}
GM_FORMS = {**MATRIX_FORMS, **ROW_FORMS, **PLANE_FORMS}

# How the tile is written: all of it, or a part that begins at a whole block.
TILE_FORMS = ("whole", "head", "rows", "columns", "slot")

# Elements in a row, by blocks of 32 bytes and elements more.
WIDTHS = {
    "blocks": (2, 0),
    "a block": (1, 0),
    "ragged": (1, 3),
    "less than a block": (1, -1),
    "one": (0, 1),
}

# When the numbers are known: while compiling, as a parameter, as a loaded byte, as a size.
TIMES = ("static", "parameter", "loaded", "symbolic")

# Indices of a parallel loop over (i, j) of I by J: an index a dimension, with its largest value.
INDICES = {
    "i": "I-1",
    "j": "J-1",
    "i + 3": "I+2",
    "j + 8": "J+7",
    "2 * i": "2*I-2",
    "2 * j": "2*J-2",
    "2 * j + 1": "2*J-1",
    "3 * j": "3*J-3",
    "LAST_I - i": "I-1",
    "LAST_J - j": "J-1",
    "j // 2": "(J-1)//2",
    "i // 2": "(I-1)//2",
    "(j + 1) % J": "J-1",
    "i * J + j": "I*J-1",
    "i + j": "I+J-2",
    "n + i": "I+4",
    "n + j": "J+4",
    "k[i]": "9",
    "k[j]": "9",
    "f": "2",
}
PARALLEL_FORMS = (
    "i, j", "i, j + 8", "i + 3, j", "i, 2 * j", "i, 2 * j + 1", "i, 3 * j", "2 * i, j", "i, j, f",
    "i, f, j", "f, i, j", "i, f, j, f", "i, 2 * j, f", "j, i", "j, f, i", "i, LAST_J - j",
    "LAST_I - i, j", "i, n + j", "n + i, j", "k[i], j", "i, k[j]", "j", "i", "f, j", "i, f",
    "i // 2, j", "i, j // 2", "i, (j + 1) % J", "i * J + j", "i + j", "j, LAST_I - i", "k[i], 2 * j",
)  # fmt: skip
# A store must not write an element twice.
STORED_TWICE = ("k[", "//", "i + j")


def once(form: str) -> bool:
    """Whether each iteration has an element of its own."""
    both = "i" in form.replace("LAST_I", "i") and "j" in form.replace("LAST_J", "j")
    return both and not any(word in form for word in STORED_TWICE)
