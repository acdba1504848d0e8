"""What `manage.py serve` starts and keeps running on one machine."""
