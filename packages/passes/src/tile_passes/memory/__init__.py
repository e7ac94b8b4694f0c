"""Assign addresses to buffers, and report the buffers that do not fit.

Buffers lie side by side, or solvers of an allocation problem place them. The facts about live
ranges are in `analysis`.
"""
