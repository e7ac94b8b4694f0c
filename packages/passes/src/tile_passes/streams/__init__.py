"""The cores of a block as streams of statements, and what they hand to each other."""
