"""The suite on prompts that evolve: population x problems, beside what others have published."""
