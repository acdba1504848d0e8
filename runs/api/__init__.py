"""The REST API under /api/v1: doors for programs, one file per group of routes."""
