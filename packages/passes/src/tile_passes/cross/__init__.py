"""How `insert_cross_core_sync` orders the cores of a block: `dependences` between them, a signal
for each (`signals`), those eliminated that tell nothing new (`completion`), numbers of flags
(`flag_ids`), and `write`. The order inside a core is in `sync`."""
