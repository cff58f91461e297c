// All that the page is made of, kept by the browser: after the first time it needs no network.
// `VERSION` and `FILES` are written before this text.

addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(VERSION)
      .then((cache) => cache.addAll(FILES))
      .then(() => skipWaiting()),
  );
});

addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith("llmdo-playground ") && name !== VERSION);
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(old(names).map((name) => caches.delete(name))))
      .then(() => clients.claim()),
  );
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || address.origin !== location.origin) return;
  const path = request.mode === "navigate" ? "./" : address.pathname.slice(new URL(".", location).pathname.length);
  if (!FILES.includes(path)) return;
  event.respondWith(caches.open(VERSION).then(async (cache) => (await cache.match(path)) ?? fetch(request)));
});
