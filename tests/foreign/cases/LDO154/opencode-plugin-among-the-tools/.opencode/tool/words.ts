// Only what other modules import.
export const lower = (text: string): string => text.toLowerCase()
export function upper(text: string) { return text.toUpperCase() }
