export default { name: "count", description: "Counts.", execute: async () => "3" }
