// Opens all folded sections before printing, except machine code.
addEventListener("beforeprint", () => {
  for (const element of document.querySelectorAll("details:not(.machine)")) element.open = true;
});
// Opens the folded sections that contain the target of a link.
const unfold = () => {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let element = found; element; element = element.parentElement) if (element.tagName === "DETAILS") element.open = true;
};
addEventListener("hashchange", unfold);
unfold();
