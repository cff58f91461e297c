const answers = { decision: process.env.ANSWER };
console.log(JSON.stringify(answers), "allow");
