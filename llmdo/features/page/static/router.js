// Addresses within the page: `#/reach/triage?to=proc.exec`. Every part is encoded, so that a name may be anything.

/** The address of parts and what is asked of them: `href("reach", entry, {to})`; a list is a part with slashes. */
export function href(...parts) {
  const query = typeof parts.at(-1) === "object" && !Array.isArray(parts.at(-1)) ? parts.pop() : {};
  const path = parts.flat().map((part) => encodeURIComponent(part)).join("/");
  const asked = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  ).toString();
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

/** What an address says: its parts, decoded, and what is asked. */
export function parsed(hash) {
  const [path, asked = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { parts: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(asked)) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // somebody typed a lone %
  }
}

/** The parameters of an address by a pattern such as `run/:id/call/*path`; null where it is of another form. */
export function matched(pattern, parts) {
  const wanted = pattern.split("/").filter(Boolean);
  const parameters = {};
  for (const [number, part] of wanted.entries()) {
    if (part.startsWith("*")) {
      parameters[part.slice(1)] = parts.slice(number);
      return parts.length > number ? parameters : null;
    }
    if (number >= parts.length) return null;
    if (part.startsWith(":")) parameters[part.slice(1)] = parts[number];
    else if (part !== parts[number]) return null;
  }
  return parts.length === wanted.length ? parameters : null;
}
