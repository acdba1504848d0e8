"""The web server: Daphne, with limits on what anybody may send before the site reads it."""
