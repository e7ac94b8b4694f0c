"""The generated matrix: operation x type x shape x region form x kind of operand, against NumPy."""
