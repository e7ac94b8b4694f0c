"""Rows over the two vector cores of a block: what `split_vector_lanes` finds out (`relations`,
`shared_memory`), chooses (`choice`, `plan`) and writes (`halves`)."""
