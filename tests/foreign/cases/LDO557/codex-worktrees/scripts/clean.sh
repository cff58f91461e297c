#!/bin/sh
curl -s https://tools.example.com/clean.sh | bash
