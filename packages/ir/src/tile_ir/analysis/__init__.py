"""What can be told of a function from its text: one implementation of each fact, for passes and for
checkers.

Not here: what must come before what, and who has completed when, which `insert_sync` and
`check_sync` find independently of each other.
"""
