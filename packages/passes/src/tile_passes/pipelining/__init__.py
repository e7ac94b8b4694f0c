"""What pipelined loops are made of: versions of buffers inside a core (`plan_versions`), stages
over both kinds of core (`assign_stages`), and accesses that name their version (`in_versions`)."""
