"""Model when instructions run, in core cycles.

One clock (`pipe_clock`) holds the rules of a pipe: issue, occupancy, latency, and happens-before as
the time at which an instruction may start. `iteration_work` lists the instructions of one iteration
of a loop with their costs; `loop_timetable` runs whole loops, and `section_time` a section under a
plan of flags and barriers. Costs come from `tile_ir.costs`.
"""
