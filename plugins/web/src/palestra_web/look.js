// What stands on the screen, line by line: depth, number, role, name, value, chosen.
() => {
  const ROLES = { P: "paragraph", A: "link", BUTTON: "button", TEXTAREA: "textbox",
    SELECT: "combobox", OPTION: "option", UL: "list", LI: "listitem", TABLE: "table", TR: "row",
    TD: "cell", TH: "columnheader", SECTION: "region", SPAN: "img" };
  const FIELDS = ["textbox", "checkbox", "radio", "combobox"];
  const own = node => [...node.childNodes].filter(n => n.nodeType === 3)
    .map(n => n.data).join("").trim();
  const role = node => node.getAttribute("role") ?? (/^H[1-6]$/.test(node.tagName) ? "heading"
    : node.tagName === "INPUT" ? (node.type === "text" ? "textbox" : node.type)
    : ROLES[node.tagName]);
  const name = (node, kind) => FIELDS.includes(kind) ? own(node.closest("label"))
    : node.getAttribute("aria-label") ?? own(node);
  const lines = [];
  const walk = (node, depth) => {
    const kind = role(node);
    if (kind) {
      const value = ["textbox", "combobox"].includes(kind) ? node.value : "";
      const chosen = kind === "option" ? node.selected : kind === "radio" || kind === "checkbox"
        ? node.checked : false;
      lines.push([depth, Number(node.dataset.number ?? 0), kind, name(node, kind), value, chosen]);
    }
    for (const child of node.children) walk(child, depth + (kind ? 1 : 0));
  };
  for (const child of document.body.children) walk(child, 0);
  return { url: location.pathname + location.search, title: document.title, lines };
}
