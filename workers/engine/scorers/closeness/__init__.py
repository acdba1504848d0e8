"""Scorers that say how close an answer is to the expected text. To add one: copy token_f1.py."""
