/** The columns of a table: in the address, and remembered by the browser for the next visit. */
const ONE_YEAR = 365 * 24 * 3600;

/** The menu names its cookie; its hidden field is what always shows, so that no column at all can be said, too. */
export function wireColumns() {
  const menu = document.querySelector("[data-columns]");
  if (!menu) return;
  const [always, cookie] = [menu.querySelector("input[type=hidden]").value, menu.dataset.columns];
  menu.querySelector("[data-columns-apply]").hidden = true;
  // Filters carry the columns on only where the address has them: else the browser remembers.
  if (!new URL(location.href).searchParams.has("show")) {
    for (const box of menu.querySelectorAll("[name=show]")) box.removeAttribute("name");
  }
  menu.addEventListener("change", (event) => {
    event.stopPropagation(); // the filters would send themselves, too
    show(menu, event.target.id, always, cookie);
  });
  const last = document.getElementById(sessionStorage.getItem(`${cookie}-open`) ?? "");
  sessionStorage.removeItem(`${cookie}-open`);
  if (!last) return;
  menu.open = true;
  last.focus();
}

function show(menu, changed, always, cookie) {
  const names = [always, ...[...menu.querySelectorAll("input:checked")].map((box) => box.value)];
  document.cookie = `${cookie}=${names.join(".")}; path=/; max-age=${ONE_YEAR}; samesite=lax`;
  sessionStorage.setItem(`${cookie}-open`, changed);
  const address = new URL(location.href);
  address.searchParams.delete("show");
  for (const name of names) address.searchParams.append("show", name);
  location.replace(address);
}
