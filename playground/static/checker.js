// The worker with Python, as the page speaks with it.

/** The folder from which the page and all that belongs to it come. */
const BASE = new URL(".", document.baseURI).href;

/** The two scripts besides the document's: that of the worker, and `service.js`. */
const own = globalThis.trustedTypes?.createPolicy("own", { createScriptURL: (address) => address });
const trusted = (address) => own?.createScriptURL(address) ?? address;

/** Keeps all that the page is made of, so that it works without a network from then on. */
export function keepOffline() {
  navigator.serviceWorker?.register(trusted(`${BASE}service.js`)).catch(() => {}); // as in private windows
}

export class Checker {
  constructor() {
    const code = document.getElementById("worker").textContent;
    // From a blob, so that the policy of this document holds in the worker as well.
    this.worker = new Worker(trusted(URL.createObjectURL(new Blob([code], { type: "text/javascript" }))), { type: "module" });
    this.waiting = new Map();
    this.number = 0;
    this.worker.addEventListener("message", ({ data }) => this.settle(data));
    this.worker.addEventListener("error", (event) => this.fail(event.message || "the worker with Python ended"));
    this.started = this.do("start", { base: BASE });
    this.started.catch(() => {}); // whoever asks is told
  }

  /** Has an action of the worker done, and returns its answer. */
  do(action, more = {}) {
    const number = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, action, ...more });
    });
  }

  settle({ number, answer, error }) {
    const { resolve, reject } = this.waiting.get(number);
    this.waiting.delete(number);
    if (error === undefined) resolve(answer);
    else reject(new Error(error));
  }

  fail(message) {
    for (const { reject } of this.waiting.values()) reject(new Error(message));
    this.waiting.clear();
  }

  /** Ends it, whatever it does. */
  end() {
    this.worker.terminate();
    this.fail("it was stopped");
  }
}
