"""Copies of a GPU's text at and beyond the edges of tensors, at `strict` against torch: what lies
outside reads as 0 and is not written. Generated: ranks, tiles that are longer than their tensor,
starts that are numbers, of the block or loaded, before the tensor and behind it, two conversions."""

from __future__ import annotations

import importlib.util
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from kept_cases import kept

from tile_ir import KernelError
from tile_runtime import compile

TYPES = ["float16", "bfloat16", "float32", "int32", "int8", "int16"]
PROGRAMS, PARTS = 320, 8
# Loaded starts are elements of a tensor of these values.
LOADED = range(-4, 60)

SCRIPT = """
import tile_frontend as T

@T.prim_func
def kernel(X: T.Tensor({shape}, "{dtypes[0]}"), P: T.Tensor((64,), "int32"),
           Y: T.Tensor({shape}, "{dtypes[2]}")):
    with T.Kernel(2, threads=64) as bx:
        a = T.alloc_{memory}({tile}, "{dtypes[1]}")
        b = T.alloc_fragment({tile}, "{dtypes[1]}")
        T.copy(X[{reads}], a)
        if bx == 0:
            T.copy(a, {passed})
            T.copy({last}, Y[{writes}])
"""


@dataclass(frozen=True)
class Program:
    """One copy to a tile and one back, by the first block."""

    text: str
    shape: list[int]
    extents: list[int]
    first: list[int]
    second: list[int]
    dtypes: tuple[str, str, str]


def program(seed: int) -> Program:
    r = random.Random(seed)
    rank = r.randint(1, 4)
    shape = [r.choice([1, 2, 3, 5, 8, 16, 17, 33, 40]) for _ in range(rank)]
    extents = [r.choice([1, 2, min(n, 8), n, n + 3]) for n in shape]
    for d in range(rank - 2):
        shape[d], extents[d] = min(shape[d], 5), r.choice([1, 1, 2])
    first = [r.choice([0, 0, 0, -1, -2, 1, n // 2, n - 1, n + 1]) for n in shape]
    second = [r.choice([0, 0, 0, -1, 1, n // 2, n - 1]) for n in shape]
    dtype = r.choice(TYPES)
    to = r.choice([dtype, dtype, r.choice(TYPES)])
    dtypes = dtype, to, r.choice([to, to, r.choice(TYPES)])
    tile = list(extents)
    while r.random() < 0.5 and len(tile) > 1 and tile[0] == 1:
        tile = tile[1:]
    slices, through = r.random() < 0.5, r.random() < 0.3

    def start(value: int) -> str:
        """A start of that value, where `bx` is 0; a negative number would count from the end."""
        how = r.choice(["number", "block", "loaded"] if value >= 0 else ["block", "loaded"])
        return {
            "number": f"{value}",
            "block": f"bx + {value}" if value >= 0 else f"bx - {-value}",
            "loaded": f"P[{value - LOADED[0]}]",
        }[how]

    def place(starts: list[int]) -> str:
        texts = [start(value) for value in starts]
        return ", ".join(
            f"{s} : {s} + {n}" if slices else s for s, n in zip(texts, extents, strict=True)
        )

    text = SCRIPT.format(
        shape=shape, tile=tile, dtypes=dtypes, reads=place(first), writes=place(second),
        memory=r.choice(["shared", "fragment"]), passed="b" if through else "a",
        last="b" if through else "a",
    )  # fmt: skip
    if not through:
        text = text.replace("            T.copy(a, a)\n", "")
    return Program(text, shape, extents, first, second, dtypes)


def read(x: torch.Tensor, starts: list[int], extents: list[int]) -> torch.Tensor:
    """The tile with zeros for what lies outside."""
    for dim, (start, extent) in enumerate(zip(starts, extents, strict=True)):
        at = torch.arange(start, start + extent)
        inside = ((at >= 0) & (at < x.shape[dim])).reshape([-1] + [1] * (x.ndim - 1 - dim))
        x = x.index_select(dim, at.clamp(0, x.shape[dim] - 1)) * inside.to(x.dtype)
    return x


def write(y: torch.Tensor, starts: list[int], tile: torch.Tensor) -> torch.Tensor:
    """The tensor with the part of the tile that lies inside."""
    bounds = [
        (max(0, s), min(n, s + extent))
        for s, n, extent in zip(starts, y.shape, tile.shape, strict=True)
    ]
    y = y.clone()
    if all(a < b for a, b in bounds):
        y[tuple(slice(a, b) for a, b in bounds)] = tile[
            tuple(slice(a - s, b - s) for (a, b), s in zip(bounds, starts, strict=True))
        ]
    return y


def kernel_of(text: str, path: Path) -> Any:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_what_lies_outside(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    loaded = torch.tensor(LOADED, dtype=torch.int32)
    done = 0
    for seed in kept(range(part, PROGRAMS, PARTS), least=8):
        p, torch_types = program(seed), [getattr(torch, d) for d in program(seed).dtypes]
        torch.manual_seed(seed)
        x, y = (torch.randint(-9, 10, p.shape).to(t) for t in (torch_types[0], torch_types[2]))
        want = write(y, p.second, read(x, p.first, p.extents).to(torch_types[1]).to(y.dtype))
        try:
            compile(kernel_of(p.text, tmp_path / f"copies_{seed}.py"))(x, loaded, y)
        except KernelError as error:
            # Tiles of three dimensions whose rows begin inside of blocks are refused.
            assert error.slug in ("operand-alignment", "row-alignment"), f"{error}\n{p.text}"
            continue
        assert torch.equal(y, want), f"seed {seed}\n{p.text}"
        done += 1
    assert done >= 7
