"""Experiments of machine learning: a workspace with data and a training script to improve."""
