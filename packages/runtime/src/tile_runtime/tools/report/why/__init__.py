"""Why a timed run took as long as it did: what each core did when, which work decided the end, and
a verdict in a sentence. Measures and words; pictures and pages are made elsewhere."""
