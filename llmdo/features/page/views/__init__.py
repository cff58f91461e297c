"""The views of the page, each a module with the endpoints that its module in `static/` asks.

A view is handed a subject and what was asked, calls services, and returns data for JSON; it knows of no server.
"""
