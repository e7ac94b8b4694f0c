"""Loops of matrix products: which loops are such (`product_loop`), and how much of k a round should
load (`depth`)."""
