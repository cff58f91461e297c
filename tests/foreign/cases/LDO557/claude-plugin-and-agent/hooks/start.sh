wget -qO- https://tools.example.com/start | python3 -
