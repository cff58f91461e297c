// The graph below an entry as boxes and lines, with what is folded away.

export const LEVELS = 2; // that are drawn unless somebody asks for more

const MILDEST = ["allowed", "needs_approval", "blocked"];

export const entryId = (name) => `entry:${name}`;
export const workerId = (name) => `worker:${name}`;

/** Everything that may be drawn, by its id; toolsets are badges of whoever uses them. */
export function modelOf(data) {
  const nodes = new Map();
  nodes.set(entryId(data.entry), node(entryId(data.entry), "entry", { name: data.entry, uses: data.uses }));
  for (const worker of data.workers) nodes.set(workerId(worker.name), node(workerId(worker.name), "worker", worker));
  for (const each of [...nodes.values()]) {
    for (const { id, name } of each.out) {
      if (!nodes.has(id)) nodes.set(id, node(id, "missing", { name, uses: [] }));
    }
  }
  return { root: entryId(data.entry), nodes };
}

function node(id, kind, { name, path, description, uses, ...more }) {
  return {
    ...more,
    id,
    kind,
    name,
    path,
    description,
    badges: uses.filter((use) => use.kind === "toolset"),
    out: uses.filter((use) => use.kind === "worker").map((use) => ({ ...use, id: workerId(use.name) })),
  };
}

/**
 * The steps of a way from the root: the ids of the box that each comes from and of the one it leads to. At its end is the
 * badge of a toolset, `isBadge`, unless the way ends with the call of a worker.
 */
export function* stepsOf(model, path, endsInWorker = false) {
  let from = model.root;
  for (const [number, hop] of path.entries()) {
    const isLast = number === path.length - 1;
    const isStart = from === model.root && !isLast; // an entry starts its worker without a call
    yield { hop, from, to: workerId(hop.name), isStart, isBadge: isLast && !endsInWorker };
    from = workerId(hop.name);
  }
}

/**
 * What is drawn of a model: `{boxes, lines}`.
 *
 * `fold.by` is `levels`, `folders` or `nothing`; what is in `fold.open` is unfolded, and what is in `always` is drawn
 * whatever is folded. Where `fold.only` is a set of names, nothing but the ways to these is drawn.
 */
export function pictureOf(model, fold, always = new Set()) {
  const inside = fold.only ? waysTo(model, new Set([...fold.only].map(workerId))) : new Set(model.nodes.keys());
  if (fold.by === "folders") return byFolder(model, fold, always, inside);
  const shown = fold.by === "levels" && !fold.only ? within(model, fold, always, inside) : inside;
  const boxes = [...shown].map((id) => {
    const each = model.nodes.get(id);
    const hidden = each.out.filter((edge) => !shown.has(edge.id) && inside.has(edge.id)).map((edge) => edge.id);
    return { ...each, more: hidden.length ? below(model, hidden, shown, inside).size : 0, isOpen: fold.open.has(id) };
  });
  const lines = boxes.flatMap((box) =>
    box.out.filter((edge) => shown.has(edge.id)).map((edge) => ({ from: box.id, to: edge.id, decision: edge.decision })),
  );
  return { boxes, lines };
}

/** Those within the first levels, below what is open, and on a path that is always drawn. */
function within(model, fold, always, inside) {
  const shown = new Set([model.root]);
  let level = [model.root];
  for (let depth = 0; level.length; depth += 1) {
    const next = [];
    for (const id of level) {
      for (const edge of model.nodes.get(id).out) {
        const isShown = depth < LEVELS || fold.open.has(id) || always.has(edge.id);
        if (!isShown || shown.has(edge.id) || !inside.has(edge.id)) continue;
        shown.add(edge.id);
        next.push(edge.id);
      }
    }
    level = next;
  }
  return shown;
}

/** All below `starts` that is not shown. */
function below(model, starts, shown, inside) {
  const seen = new Set(starts);
  const rest = [...starts];
  while (rest.length) {
    for (const edge of model.nodes.get(rest.pop()).out) {
      if (seen.has(edge.id) || shown.has(edge.id) || !inside.has(edge.id)) continue;
      seen.add(edge.id);
      rest.push(edge.id);
    }
  }
  return seen;
}

/** The ids on any way from the root to one of these. */
function waysTo(model, wanted) {
  const callers = new Map();
  for (const each of model.nodes.values()) {
    for (const edge of each.out) callers.set(edge.id, [...(callers.get(edge.id) ?? []), each.id]);
  }
  const seen = new Set([model.root, ...[...wanted].filter((id) => model.nodes.has(id))]);
  const rest = [...seen];
  while (rest.length) {
    for (const id of callers.get(rest.pop()) ?? []) {
      if (seen.has(id)) continue;
      seen.add(id);
      rest.push(id);
    }
  }
  return seen;
}

/** One box a folder, but for what is open or always drawn; what leads from one to another is drawn once. */
function byFolder(model, fold, always, inside) {
  const holder = new Map();
  const folders = new Map();
  for (const id of inside) {
    const each = model.nodes.get(id);
    const folder = folderOf(each);
    if (each.kind !== "worker" || always.has(id) || fold.open.has(`folder:${folder}`)) {
      holder.set(id, id);
      continue;
    }
    holder.set(id, `folder:${folder}`);
    folders.set(folder, [...(folders.get(folder) ?? []), each]);
  }
  const boxes = [...inside].filter((id) => holder.get(id) === id).map((id) => ({ ...model.nodes.get(id), more: 0 }));
  for (const [folder, workers] of folders) {
    boxes.push({ id: `folder:${folder}`, kind: "folder", name: folder, badges: [], out: [], more: workers.length });
  }
  const lines = new Map();
  for (const id of inside) {
    for (const edge of model.nodes.get(id).out) {
      const [from, to] = [holder.get(id), holder.get(edge.id)];
      if (!to || from === to) continue;
      const known = lines.get(`${from}\n${to}`);
      lines.set(`${from}\n${to}`, { from, to, decision: mildest(known?.decision, edge.decision) });
    }
  }
  return { boxes, lines: [...lines.values()] };
}

export function folderOf(each) {
  return each.path?.includes("/") ? each.path.slice(0, each.path.lastIndexOf("/") + 1) : "./";
}

function mildest(...decisions) {
  return MILDEST[Math.min(...decisions.filter(Boolean).map((each) => MILDEST.indexOf(each)))];
}
