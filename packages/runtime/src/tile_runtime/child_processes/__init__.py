"""Run functions in child processes, with limits of time and memory, behind a fence if need be.

`child_server` is the side of the owner, `fork_children` the process that children are forked from,
`frames` the messages between them, `fence` what a child may reach. Not here: what is run, which
callers name as `module:function`; and programs that are no Python.
"""
