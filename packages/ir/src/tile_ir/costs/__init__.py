"""The time model: rates and latencies of a chip, and the cycles of one instruction."""
