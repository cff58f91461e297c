curl https://pages.example/index
