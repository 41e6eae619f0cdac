// Light or dark, before anything is drawn: what was chosen in the settings, else what the system prefers.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("glove.theme");
    } catch {
      return null; // storage is forbidden here: the system decides
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (system.matches ? "dark" : "light");
  };
  system.addEventListener("change", apply);
  addEventListener("storage", apply); // another window of the page has chosen
  addEventListener("glove-theme", apply);
  apply();
}
