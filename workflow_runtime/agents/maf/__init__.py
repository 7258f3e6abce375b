"""
The adapter to the Agent Framework and to the providers' SDKs.

Only modules of this package import them, and nothing imports this package before the first turn:
that is a second of a cold start.
"""
