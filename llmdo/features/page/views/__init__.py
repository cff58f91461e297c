"""The views of the page, each a module with the endpoints that its module in `static/` asks.

A view gets a subject and an inquiry, calls services, and returns data for JSON; it knows of no server.
"""
