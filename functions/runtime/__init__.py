"""Hosting of procedures: receive events, decide, append, send outputs, acknowledge."""
