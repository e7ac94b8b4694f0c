"""How `insert_sync` works: tree, conflicts, fences, facts, search, event ids, text."""
