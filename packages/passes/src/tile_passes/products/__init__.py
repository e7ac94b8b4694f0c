"""Recognise loops of matrix products, and choose how much of k an iteration loads."""
