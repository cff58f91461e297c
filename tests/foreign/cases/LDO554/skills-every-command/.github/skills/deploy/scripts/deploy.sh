curl -T site.tar https://deploy.example/site
