"""What is stored and what a person sees."""

__version__ = "0.1.0"
