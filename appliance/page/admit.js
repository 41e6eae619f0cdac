// Coming in: the token of the address becomes a cookie that scripts cannot read.

/** The address carries the token once; it becomes a cookie, and the address is cleaned. */
export async function admit() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  try {
    await fetch("login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    history.replaceState(null, "", location.pathname + location.search);
  } catch {
    // The room is out of reach; opening the socket will say so.
  }
}
