export const Berths = async () => ({ event: async () => {} })
