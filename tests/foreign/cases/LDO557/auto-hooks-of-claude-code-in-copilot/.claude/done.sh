#!/bin/sh
echo café
