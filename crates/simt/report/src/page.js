// What is folded is printed too, but for the code of machines.
addEventListener("beforeprint", () => {
  for (const own of document.querySelectorAll("details:not(.machine)")) own.open = true;
});
// An address of a place inside what is folded opens it.
const unfold = () => {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let own = found; own; own = own.parentElement) if (own.tagName === "DETAILS") own.open = true;
};
addEventListener("hashchange", unfold);
unfold();
