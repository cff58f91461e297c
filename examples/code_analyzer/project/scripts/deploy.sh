#!/bin/sh
# Copies the shop to the server.
set -e
rsync -a --delete parcels web shop@example.invalid:/srv/parcels
