#!/bin/sh
other-gate "$1"
