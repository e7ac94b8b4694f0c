"""The puzzles with their answers, one file each; `puzzle.py` describes the marks in them."""
