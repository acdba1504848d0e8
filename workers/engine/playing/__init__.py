"""How episodes are played. Processes that play import it, so it imports nothing else of a run."""
