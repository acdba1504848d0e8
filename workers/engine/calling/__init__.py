"""One call, from the cache through the throttle to the provider: what it costs, and what it says.

`asking` is what a trial uses; `calls` is one call; the rest serves these two.
"""
