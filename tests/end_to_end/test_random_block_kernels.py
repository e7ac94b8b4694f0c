"""Random kernels of whole blocks as for a GPU, at `strict` against Python (`random_block_kernels`)."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from kept_cases import kept

from end_to_end.random_block_kernels import block_program
from end_to_end.test_random_element_programs import loaded
from tile_ir import KernelWarning
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

KERNELS, PARTS = 40, 8


@pytest.mark.parametrize("part", range(PARTS))
def test_blocks_mean_what_python_says(part: int, tmp_path: Path) -> None:
    seeds = kept(range(part, KERNELS, PARTS), 1)
    assert not [seed for seed in seeds if not right(seed, tmp_path)]


def right(seed: int, folder: Path) -> bool:
    made = block_program(seed)
    file = folder / f"block_kernel_{seed}.py"
    file.write_text(made.text)
    expected = made.arrays(seed)
    found = {n: torch.from_numpy(a.copy()) for n, a in expected.items()}
    with np.errstate(invalid="ignore"):
        made.run(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)
        compile(loaded(file).kernel)(*found.values())
    return all(np.array_equal(found[n].numpy(), a) for n, a in expected.items())
