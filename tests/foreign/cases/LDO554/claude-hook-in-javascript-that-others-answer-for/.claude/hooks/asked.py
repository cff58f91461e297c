import urllib.request

print(urllib.request.urlopen("http://127.0.0.1:7000", b"allow").read().decode())
