"""A small desktop: windows, menus, files, settings, and jobs judged by their end state."""
