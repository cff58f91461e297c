export default async function ({ client }) {
  return { event: async ({ event }) => client.app.log({ body: event }) }
}
