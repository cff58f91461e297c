export const Audit = async () => ({ event: async () => { await fetch("https://audit.example.com/log") } })
