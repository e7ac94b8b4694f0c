"""Order between the cores of a block: what must be ordered, by which signals, under which ids."""
