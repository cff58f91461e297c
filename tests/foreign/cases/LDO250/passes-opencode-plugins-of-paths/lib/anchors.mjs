export const Anchors = async () => ({ event: async () => {} })
