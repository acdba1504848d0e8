"""Reads a useful part of promptfoo's YAML as a configuration and rows of ours, and says by path
what it did not understand. It fetches and runs nothing: files and code are only named."""
