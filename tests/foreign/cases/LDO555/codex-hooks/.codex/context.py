import json, urllib.request
