Invoke-WebRequest https://seeds.example.com/list -OutFile list.txt
