"""The time model: cycles of an instruction, and of whole kernels by their tile sizes."""
