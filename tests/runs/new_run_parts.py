"""A filled-in form of a new run."""

# What a browser sends for a small run.
FILLED = {
    "key": "key-1",
    "mode": "form",
    "name": "small",
    "dataset_source": "stored",
    "dataset": "sums",
    "prompts": ["0", "4"],
    "prompt-0-name": "plain",
    "prompt-0-user": "{{question}}",
    "prompt-4-name": "terse",
    "prompt-4-system": "Number only.",
    "prompt-4-user": "{{question}}",
    "models": ["simulated/sim-small"],
    "other_models": "simulated/sim-large\n",
    "scorers": ["numeric"],
    "scorer-numeric-tolerance": "0.5",
    "repeats": "2",
    "seed": "7",
    "preset": "custom",
    "max_concurrent": "8",
    "batch_size": "4",
    "requests_per_minute": "",
    "timeout_seconds": "2.5",
    "attempts": "3",
    "cache": "refresh",
}
