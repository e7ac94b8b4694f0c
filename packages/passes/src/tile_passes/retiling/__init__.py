"""Blocks of a grid that become one: along which of its dimensions, and how many of them."""
