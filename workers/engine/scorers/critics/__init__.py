"""Critics: scorers that have a model judge. To add one: copy closed_question.py; fencing, reading,
repair and panels are in brief.py, verdicts.py and base.py."""
