"""The limits suite: bars that the throttle, the cache and the retries have to meet, row by row."""
