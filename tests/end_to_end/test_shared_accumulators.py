"""Accumulators that fit l0c only on the same bytes: each begins by overwriting what was there.

Everything runs at `strict`, and the checkers read the text that is run.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_checkers import check_memory, check_sync
from tile_ir import DEFAULT_TARGET, Automatic, Func, KernelError
from tile_passes import PassOptions, run_pipeline
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

ROUNDS = 3
AUTOMATIC = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True, PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}


def checked(kernel: Func, *arguments: torch.Tensor, outputs: list[int]) -> Any:
    """The outputs of a kernel whose final text the checkers accept."""
    options = PassOptions(automatic=(Automatic.SYNC, Automatic.MEMORY))
    final = run_pipeline(kernel, DEFAULT_TARGET, options).func
    assert check_memory(final) == ()
    assert check_sync(final) == ()
    return compile(kernel, out_idx=outputs, pass_configs=AUTOMATIC)(*arguments)


def operands() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    q = torch.randint(-4, 5, (ROUNDS, 64, 64), generator=generator)
    k = torch.randint(-4, 5, (ROUNDS, 64, 512), generator=generator)
    return q.half() / 4, k.half() / 4


def test_overwritten_and_then_added_to() -> None:
    """64 and 512 columns of 64 rows need 147,456 bytes, and there are 131,072."""

    @T.prim_func
    def k(
        Q: T.Tensor((ROUNDS, 64, 64), "float16"),
        K: T.Tensor((ROUNDS, 64, 512), "float16"),
        S: T.Tensor((ROUNDS, 64, 64), "float32"),
        R: T.Tensor((ROUNDS, 64, 512), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            q = T.alloc_L1((64, 64), "float16")
            k = T.alloc_L1((64, 512), "float16")
            s = T.alloc_L0C((64, 64), "float32")
            o = T.alloc_L0C((64, 512), "float32")
            with T.Scope("C"):
                for i in T.serial(ROUNDS):
                    T.copy(Q[i, 0:64, 0:64], q)
                    T.copy(K[i, 0:64, 0:512], k)
                    T.gemm_v0(q, q, s, transpose_B=True, init=True)
                    T.gemm_v0(q, q, s)
                    T.copy(s, S[i, 0:64, 0:64])
                    T.gemm_v0(q, k, o, init=True)
                    T.copy(o, R[i, 0:64, 0:512])

    q, b = operands()
    s, o = checked(k, q, b, outputs=[2, 3])
    x, y = q.float(), b.float()
    torch.testing.assert_close(s, x @ x.transpose(1, 2) + x @ x, rtol=0, atol=0)
    torch.testing.assert_close(o, x @ y, rtol=0, atol=0)


@pytest.mark.parametrize("branches", [False, True])
def test_overwritten_in_the_first_round(branches: bool) -> None:
    """Sums over a loop, and one after the other: on a condition, and in branches."""

    @T.prim_func
    def k(
        Q: T.Tensor((ROUNDS, 64, 64), "float16"),
        K: T.Tensor((ROUNDS, 64, 512), "float16"),
        S: T.Tensor((2, 64, 64), "float32"),
        R: T.Tensor((2, 64, 512), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            q = T.alloc_L1((64, 64), "float16")
            k = T.alloc_L1((64, 512), "float16")
            s = T.alloc_L0C((64, 64), "float32")
            o = T.alloc_L0C((64, 512), "float32")
            with T.Scope("C"):
                for t in T.serial(2):
                    for i in T.serial(t, ROUNDS):
                        T.copy(Q[i, 0:64, 0:64], q)
                        if branches:
                            if i == t:
                                T.gemm_v0(q, q, s, init=True)
                            else:
                                T.gemm_v0(q, q, s)
                        else:
                            T.gemm_v0(q, q, s, init=(i == t))
                    T.copy(s, S[t, 0:64, 0:64])
                    for j in T.serial(ROUNDS):
                        T.copy(Q[j, 0:64, 0:64], q)
                        T.copy(K[j, 0:64, 0:512], k)
                        T.gemm_v0(q, k, o, init=(j == 0))
                    T.copy(o, R[t, 0:64, 0:512])

    q, b = operands()
    s, o = checked(k, q, b, outputs=[2, 3])
    x, y = q.float(), b.float()
    squares = x @ x
    torch.testing.assert_close(s, torch.stack([squares.sum(0), squares[1:].sum(0)]), rtol=0, atol=0)
    torch.testing.assert_close(o, (x @ y).sum(0).expand(2, 64, 512), rtol=0, atol=0)


def carried(twice: bool) -> Func:
    """A sum that goes on while the other accumulator is used, which is added to again or not."""

    @T.prim_func
    def k(
        Q: T.Tensor((ROUNDS, 64, 64), "float16"),
        K: T.Tensor((ROUNDS, 64, 512), "float16"),
        S: T.Tensor((64, 64), "float32"),
        R: T.Tensor((ROUNDS, 64, 512), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            q = T.alloc_L1((64, 64), "float16")
            k = T.alloc_L1((64, 512), "float16")
            s = T.alloc_L0C((64, 64), "float32")
            o = T.alloc_L0C((64, 512), "float32")
            with T.Scope("C"):
                for i in T.serial(ROUNDS):
                    T.copy(Q[i, 0:64, 0:64], q)
                    T.copy(K[i, 0:64, 0:512], k)
                    T.gemm_v0(q, q, s, init=(i == 0))
                    T.gemm_v0(q, k, o, init=True)
                    if twice:
                        T.gemm_v0(q, k, o)
                    T.copy(o, R[i, 0:64, 0:512])
                T.copy(s, S)

    return k


def test_what_is_carried_is_kept() -> None:
    """The two do not share bytes."""
    with pytest.raises(KernelError, match=r"l0c needs 147456 bytes at once"):
        compile(carried(twice=True), out_idx=[2, 3], pass_configs=AUTOMATIC)


def test_a_product_in_pieces_leaves_room_for_what_is_carried() -> None:
    """One product that is only copied away needs no whole accumulator."""
    q, b = operands()
    s, o = checked(carried(twice=False), q, b, outputs=[2, 3])
    x, y = q.float(), b.float()
    torch.testing.assert_close(s, (x @ x).sum(0), rtol=0, atol=0)
    torch.testing.assert_close(o, x @ y, rtol=0, atol=0)
