// The smallest page with a chat; `?agent=browser` runs the agent here instead of on the server.

import { GloveClient, createRestStore, mountChat } from "/glove-client/glove-client.js";

const here = new URLSearchParams(location.search).get("agent") === "browser";
const clock = { name: "clock", description: "Tell the time.", do: () => ({ time: "noon", by: "this browser" }) };
const browserAgent = {
  endpoint: "/proxy/chat",
  systemPrompt: "Be brief.",
  tools: [clock],
  createStore: (sessionId) => createRestStore({ server: "/proxy", sessionId }),
};
const client = new GloveClient({ ...(here ? browserAgent : { server: "/api" }), persistSession: true });
window.client = client;
mountChat(document.body, client, { agentName: "Glove" });
