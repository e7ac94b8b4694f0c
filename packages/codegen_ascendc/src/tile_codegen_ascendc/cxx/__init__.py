"""C++ as any back end writes it: identifiers, scalar expressions, operands as templates see them.

What this text leans on, a back end has in its headers: the functions `tile::` and tensors that are
read by `GetValue`. Not here: what is Ascend C, which is the rest of this package.
"""
