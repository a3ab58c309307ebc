"""Models: strings, tokens and arrays. Knows nothing of papers and imports nothing of the other packages."""
