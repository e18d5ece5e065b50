"""Experiments on generative models."""
