"""Analyses of documents that a data room holds."""
