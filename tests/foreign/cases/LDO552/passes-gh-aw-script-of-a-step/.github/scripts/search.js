module.exports = async ({ github, context, core }) => {
  const found = await github.rest.search.issuesAndPullRequests({ q: "is:issue label:pear" });
  core.setOutput("pears", found.data.items.map(({ title, body }) => `${title}: ${body}`).join("\n"));
};
