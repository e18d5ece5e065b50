"""Search and reranking over a library of pages that is drawn from the seed."""
