"""The engine: plan, execute, absorb. Pure Python; time, randomness and storage are passed in."""
