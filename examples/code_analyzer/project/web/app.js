// Shows the price of a parcel while somebody types.
const form = document.querySelector("#parcel");

function show(price) {
  document.querySelector("#price").innerHTML = price;
}

async function ask(kind, weight) {
  // TODO: one request for each key press is too many
  const answer = await fetch(`/price?kind=${kind}&weight=${weight}`);
  return answer.text();
}

form.addEventListener("input", async () => {
  show(await ask(form.kind.value, form.weight.value));
});
