"""Memories that agents keep from one episode to the next."""
