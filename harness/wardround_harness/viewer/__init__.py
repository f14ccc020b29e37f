"""`wardround view`: a local web page over a folder of runs, and the API behind it."""
