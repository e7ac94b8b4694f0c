"""Recommend tile sizes and configurations of common kernels by the time model."""
