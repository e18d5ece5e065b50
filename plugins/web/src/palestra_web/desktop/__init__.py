"""A small desktop: windows, menus, files, settings, and jobs judged by what they leave behind."""
