"""Represent errors as values with places, and print them on the command line."""
