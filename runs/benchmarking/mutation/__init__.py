"""The suite on queries that are rewritten: environments at once, beside one call at a time."""
