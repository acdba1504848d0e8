"""The simulated provider: a real HTTP server that plays OpenAI and Ollama for demo and tests."""
