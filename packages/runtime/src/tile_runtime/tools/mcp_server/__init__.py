"""A server of the Model Context Protocol: the compiler's commands as tools of a program that writes
kernels.

`server` speaks the protocol, `run_command` runs a command in a process of its own with a limit of
time, and `search_pages` searches the documents. The skill file describes their use to
agents.

Not here: what the tools do, which stands in the commands and in the judge.
"""
