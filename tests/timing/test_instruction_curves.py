"""Single instructions of the time model against the vendor's curves, dependent ones against what samples and a trace of
whole kernels say."""

from __future__ import annotations

import pytest
from curve_kernels import VECTOR
from instruction_curves import cycles, families, points
from timed_kernel_set import TimedKernelSet, times

from tile_ir.costs.timing import DEFAULT_TIMING

KERNELS = TimedKernelSet()
# The vector part of a tile of a norm kernel (docs/hardware/time_model.md#calibration).
NORM = KERNELS.add("norm", "int32_t repeats", """
LocalTensor<half> x(TPosition::VECCALC, 0, 4096);
LocalTensor<float> wide(TPosition::VECCALC, 16384, 4096);
LocalTensor<float> sums(TPosition::VECCALC, 65536, 4096);
LocalTensor<float> total(TPosition::VECCALC, 131072, 64);
Duplicate(x, half(1), 4096);
Duplicate(total, 0.0f, 64);
PipeBarrier<PIPE_ALL>();
Cast(wide, x, RoundMode::CAST_NONE, uint64_t(64), repeats, UnaryRepeatParams(1, 1, 8, 4));
PipeBarrier<PIPE_V>();
Abs(wide, wide, uint64_t(64), repeats, UnaryRepeatParams(1, 1, 8, 8));
PipeBarrier<PIPE_V>();
Add(sums, wide, wide[repeats * 32], uint64_t(64), repeats / 2, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
PipeBarrier<PIPE_V>();
for (int32_t left = repeats / 2; left > 1; left /= 2) {
    PairReduceSum(sums, sums, left, uint64_t(64), 1, 1, 8);
    PipeBarrier<PIPE_V>();
}
BlockReduceSum(sums, sums, 1, uint64_t(64), 1, 1, 8);
PipeBarrier<PIPE_V>();
BlockReduceSum(sums, sums, 1, uint64_t(8), 1, 1, 8);
PipeBarrier<PIPE_V>();
Add(total, total, sums, uint64_t(1), 1, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
""")  # fmt: skip


def test_streamed_instructions_follow_the_curves() -> None:
    for family, (count, error, order) in families(list(points())).items():
        print(f"{family}: {count} points, median error {error:.1%}, Spearman {order:.3f}")
        assert count > 20 and error <= 0.10 and order >= 0.98, family


def test_an_instruction_waits_for_the_one_it_needs() -> None:
    """The sample of 1000 Adds: 24.4 cycles beside the repeats of each."""
    for repeats in (1, 8, 64):
        beside = cycles(VECTOR["dependent_add", "f32"], "V", repeats) - 2 * repeats
        assert beside == pytest.approx(24.4, rel=0.15) or repeats == 1


def test_the_vector_part_of_a_norm() -> None:
    timeline = KERNELS.timeline(NORM, 64, table=DEFAULT_TIMING)
    steps = times(timeline, "V")[2:]
    done = timeline.events["complete"].max() - steps[0][0]
    assert len(steps) == 11 and 480 <= done <= 700
