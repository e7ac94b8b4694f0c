"""Errors as values, their places, and how the command line prints them."""
