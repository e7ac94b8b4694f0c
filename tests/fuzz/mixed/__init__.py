"""Random kernels for both kinds of core, as people write them, and what all opinions say of them.

Rooms: `tensors` declares what a kernel moves, `work` has statements of one core or from one to
another, `control` loops, branches and scalars around them, `two_scopes` kernels with a scope for
each core, `random_mixed` a whole kernel; `together` is the meaning of the text, `verdict` asks all
opinions, `removals` leaves cross-core flags out, `campaign` does it for many."""
