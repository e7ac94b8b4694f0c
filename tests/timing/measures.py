"""What a published number measures, and how the same is read from a modelled launch.

The profiler's columns (msprof, msOpProf): `task_duration` runs from the scheduler's start to the end of the last core, `aicore_time` and `aiv_time` are means over the cores that run, `*_time` of a pipe is the mean over cores of the time the pipe is busy (with UnitFlag, Fixpipe's includes its waiting), `aic_time_max` is the slowest core.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Span(Enum):
    TASK = "launch head and all cores"
    BODY = "first start to last end of the cores, no launch head"
    CORE = "start to end of a core"
    PIPE = "busy time of a pipe"
    SHARE = "busy time of a pipe over the core's time"


class Unit(Enum):
    """Units of the published values, and what one microsecond is in them (at the clock of the SoC)."""

    US = "us"
    MS = "ms"
    TICK = "tick"  # of the 50 MHz system counter
    CYCLE = "cycle"
    PERCENT = "%"
    TB_PER_S = "TB/s"
    GB_PER_S = "GB/s"
    TFLOPS = "TFLOPS"


@dataclass(frozen=True)
class Measure:
    """`kind` is aic or aiv, `pipe` as in PIPE_x; `volume` the bytes a bandwidth, or the operations a
    throughput counts."""

    span: Span
    kind: str = ""
    pipe: str = ""
    slowest: bool = False
    unit: Unit = Unit.US
    volume: int = 0


TASK = Measure(Span.TASK)
AIC_TIME = Measure(Span.CORE, "aic")
AIC_TIME_MAX = Measure(Span.CORE, "aic", slowest=True)
TICKS = Measure(Span.BODY, unit=Unit.TICK)


def busy(kind: str, pipe: str) -> Measure:
    return Measure(Span.PIPE, kind, pipe)


def share(kind: str, pipe: str) -> Measure:
    return Measure(Span.SHARE, kind, pipe, unit=Unit.PERCENT)


def bandwidth(kind: str, pipe: str, volume: int, unit: Unit = Unit.TB_PER_S) -> Measure:
    return Measure(Span.PIPE, kind, pipe, unit=unit, volume=volume)


def throughput(operations: float) -> Measure:
    """Operations of the whole task."""
    return Measure(Span.TASK, unit=Unit.TFLOPS, volume=int(operations))


# The metric column of published.csv, where it says all.
BY_METRIC = {
    "task_duration": TASK,
    "launch_head": TASK,
    "aicore_time": AIC_TIME,
    "aic_time": AIC_TIME,
    "aic_time_max": AIC_TIME_MAX,
    "aic_mac_time": busy("aic", "M"),
    "aic_mte1_time": busy("aic", "MTE1"),
    "aic_mte2_time": busy("aic", "MTE2"),
    "aic_fixpipe_time": busy("aic", "FIX"),
    "aic_scalar_time": busy("aic", "S"),
    "aiv_vec_time": busy("aiv", "V"),
    "aiv_mte2_time": busy("aiv", "MTE2"),
    "aiv_mte3_time": busy("aiv", "MTE3"),
    "aiv_scalar_time": busy("aiv", "S"),
}
