"""The site: wiring of Django, Channels and the embedded services, without logic of its own."""
