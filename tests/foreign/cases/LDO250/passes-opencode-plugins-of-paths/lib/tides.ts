export const Tides = async () => ({ event: async () => {} })
