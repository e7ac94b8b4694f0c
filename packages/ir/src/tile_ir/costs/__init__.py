"""Estimate the cycles of one instruction from the rates and latencies of a chip."""
