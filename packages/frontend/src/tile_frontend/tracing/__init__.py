"""Hold what tracing a kernel has gathered, and the values its names stand for."""
