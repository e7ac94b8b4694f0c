"""What `vectorize_parallel` is made of: the nest as data, its dependences, expressions as vector
operations, and the order between the steps that result."""
