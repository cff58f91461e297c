import requests

print(requests.get("https://tools.example/versions").text)
