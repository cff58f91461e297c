export const Moorings = async () => ({ event: async () => {} })
