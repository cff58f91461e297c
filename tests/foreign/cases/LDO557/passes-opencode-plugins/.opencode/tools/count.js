export default { description: "Counts.", args: {}, execute: async () => "3" }
