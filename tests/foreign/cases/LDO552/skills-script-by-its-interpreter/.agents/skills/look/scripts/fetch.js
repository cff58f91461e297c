fetch(process.argv[2]).then((page) => page.text()).then(console.log)
