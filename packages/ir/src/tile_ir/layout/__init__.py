"""Where elements lie: shapes, strides, fractals, and the operand forms of the hardware."""
