"""Each step of `insert_sync` by itself, on random sections: what its file says it gives.

Rooms: `random_sections` makes sections, `executed` runs one and notes what touches what.
"""
