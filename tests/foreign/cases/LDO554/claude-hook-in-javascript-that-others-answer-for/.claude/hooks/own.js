const verdict = "approve";
console.log(JSON.stringify({ decision: verdict, log: "allow" }));
