"""What is sent to a model: messages, their images, tools, and the tool calls that come back.

Here everything has OpenAI's form; each provider translates it.
"""
