"""Compute facts about a function from its text, for passes and for checkers.

Not here: required order and completion, which `insert_sync` and `check_sync` compute independently
of each other.
"""

from __future__ import annotations

from tile_ir.analysis.accesses import Bounds, Touch, element, regions_of, touches_within, widened
from tile_ir.analysis.branch_feasibility import (
    Facts,
    at_least,
    at_least_by_cases,
    decided,
    facts_in,
    facts_of,
)
from tile_ir.analysis.intervals import (
    EVERYTHING,
    INF,
    Interval,
    Ranges,
    interval,
    is_settled,
    launch_ranges,
    loop_range,
    narrow,
    ranges_inside,
    walk_with_ranges,
    with_ranges,
)
from tile_ir.analysis.launch_indices import own_block_part, own_lane_part, uses_block, uses_lane
from tile_ir.analysis.regions import (
    apart,
    apart_by_numbers,
    common_path,
    defined,
    ever_meet_in,
    meet_in_run,
)
from tile_ir.analysis.residues import (
    MOST_RESIDUES,
    ORDERING,
    is_iterations,
    iterations_in,
    iterations_of,
    modulus_of,
    periods,
)
from tile_ir.analysis.shared_bytes import Sharing
from tile_ir.analysis.steps_of_calls import steps_of_call
from tile_ir.analysis.trip_counts import (
    constant_trips,
    executions,
    surely_runs,
    trip_count,
    trips,
)

__all__ = [
    "EVERYTHING", "INF", "MOST_RESIDUES", "ORDERING", "Bounds", "Facts", "Interval", "Ranges",
    "Sharing", "Touch", "apart", "apart_by_numbers", "at_least", "at_least_by_cases", "common_path",
    "constant_trips", "decided", "defined", "element", "ever_meet_in", "executions", "facts_in",
    "facts_of", "interval", "is_iterations", "is_settled", "iterations_in", "iterations_of",
    "launch_ranges", "loop_range", "meet_in_run", "modulus_of", "narrow", "own_block_part",
    "own_lane_part", "periods", "ranges_inside", "regions_of", "steps_of_call", "surely_runs",
    "touches_within", "trip_count", "trips", "uses_block", "uses_lane", "walk_with_ranges",
    "widened", "with_ranges",
]  # fmt: skip
