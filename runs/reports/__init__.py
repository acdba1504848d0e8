"""What a run became, as files and lines for other programs and for people."""
