"""Serve an editor: findings, hover texts and fixes for the open file.

`server` speaks the protocol. It never runs the user's file: `child_process` does, in a process of
its own with a limit of time, where `look_at_script` collects what `seen` holds. `hover_text` and
`quick_fixes` make of that what an editor shows.

Not here: what is found and explained, which stands in the passes, the checkers and the command
line; nothing here decides or changes anything.
"""
