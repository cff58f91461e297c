"""An MCP server over stdin and stdout that hands each request on to the bench, which has the environment.

A program of its own, without agentdojo, which takes seconds to import: `python served.py PORT`.
"""

import sys
import urllib.request

if __name__ == "__main__":
    for _line in sys.stdin:
        _request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/", data=_line.encode())
        with urllib.request.urlopen(_request, timeout=60) as _answer:
            _text = _answer.read().decode()
        if _text:
            print(_text, flush=True)
