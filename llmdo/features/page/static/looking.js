// What changes by itself is looked at again, while somebody has the page before them.

/** Calls `look` every so many ms until the view is left, and `fail` with an error that it ends with. */
export function lookAgain(context, every, look, fail = () => {}) {
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      await look();
    } catch (error) {
      if (error.name !== "AbortError") fail(error);
    }
  }, every);
  context.onLeave(() => clearInterval(timer));
}
