"""Write C++ for any back end: identifiers, scalar expressions, operands of templates.

What this text leans on, a back end has in its headers: the functions `tile::` and tensors that are
read by `GetValue`. Not here: what is Ascend C, which is the rest of this package.
"""
