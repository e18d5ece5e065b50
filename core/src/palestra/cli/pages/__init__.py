"""`palestra pages` and `palestra reference`: a page of Markdown for everything installed."""

from palestra.cli.pages.catalogue import catalogue_page
from palestra.cli.pages.command import pages_command, reference_command
from palestra.cli.pages.environments import page, page_name

__all__ = ["catalogue_page", "page", "page_name", "pages_command", "reference_command"]
