export const P = async () => ({})
