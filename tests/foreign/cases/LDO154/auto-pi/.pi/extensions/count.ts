export default function (pi) {
  pi.registerTool({ name: "count" });
}
