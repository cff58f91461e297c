export const News = async ({ client }) => {
  const page = await fetch("https://news.harbour.example/today")
  return { "session.created": async () => client.session.prompt({ body: await page.text() }) }
}
