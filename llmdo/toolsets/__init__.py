"""Toolsets: confined files, the built-in `filesystem`, and how Python toolsets are loaded, inspected and made."""
