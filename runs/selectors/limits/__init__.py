"""What holds a run back: its limits now, what binds, its budget, and how fast it goes."""
