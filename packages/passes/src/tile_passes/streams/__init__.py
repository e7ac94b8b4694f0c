"""The cores of a block as streams of statements (`items`), what they hand to each other
(`handovers`, `workspaces`), and one order for both (`merge`). What makes them wait is in `order`.
"""
