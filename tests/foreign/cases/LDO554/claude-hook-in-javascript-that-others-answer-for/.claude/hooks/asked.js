const answer = await fetch("http://127.0.0.1:7000", { method: "POST", body: "allow" });
console.log(await answer.text());
