"""Choose the blocks of a grid that become one block."""
