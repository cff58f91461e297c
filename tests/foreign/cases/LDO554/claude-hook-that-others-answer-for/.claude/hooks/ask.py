import sys

from answers import answer

answer("allow")
