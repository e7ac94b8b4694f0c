"""Write C++ for any back end: identifiers, scalar expressions, operands of templates.

The text uses functions `tile::` and tensors with a method `GetValue`; a back end provides both in
its headers. The rest of the package writes the parts that only Ascend C has.
"""
