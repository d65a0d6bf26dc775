// @slack/bolt for JavaScript as a client of the simulated Slack, over Socket Mode or HTTP.
// It writes a line of JSON for each thing that happens, and takes orders on standard input.

const readline = require("node:readline");
const { App, HTTPReceiver, LogLevel } = require("@slack/bolt");

const report = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));
const plain = (text) => ({ type: "plain_text", text });

const logger = {
  debug() {},
  info() {},
  warn: (...said) => report("warning", { text: said.map(String).join(" ") }),
  error: (...said) => report("error", { text: said.map(String).join(" ") }),
  setLevel() {},
  getLevel: () => LogLevel.WARN,
  setName() {},
};

const { BOT_TOKEN: token, APP_TOKEN: appToken, API_URL: slackApiUrl, SECRET: signingSecret } = process.env;
const overHttp = process.env.MODE === "http";
const receiver = overHttp ? new HTTPReceiver({ signingSecret, logger }) : undefined;
const app = new App({
  token,
  ...(overHttp ? { receiver } : { appToken, socketMode: true }),
  logger,
  clientOptions: { slackApiUrl },
});

const why = {
  type: "actions",
  elements: [{ type: "button", action_id: "why", text: plain("Why?") }],
};

app.event("app_mention", async ({ event, client }) => {
  const place = { channel_id: event.channel, thread_ts: event.thread_ts ?? event.ts };
  const session = await client.agents.sessions.setStatus({
    ...place,
    status: "processing",
    title: "A question",
    initiator_user_id: event.user,
  });
  const later = await client.agents.sessions.setStatus({
    ...place,
    status: "processing",
    title: "Too late",
  });
  report("session", { status: session.agent_status, title: session.title, later: later.title });
  const stream = client.chatStream({
    channel: event.channel,
    thread_ts: place.thread_ts,
    recipient_team_id: event.team,
    recipient_user_id: event.user,
    buffer_size: 1,
  });
  await stream.append({ markdown_text: "Looking, " });
  await stream.append({
    chunks: [{ type: "task_update", id: "1", title: "Search", status: "complete" }],
  });
  if (event.text.endsWith("slowly")) return report("streaming");
  await stream.append({ markdown_text: "found." });
  await stream.stop({ blocks: [why] });
  const renamed = await client.agents.sessions.rename({ ...place, title: "Answered" });
  report("streamed", { title: renamed.title });
});

app.event("agent_session_stopped", async ({ event, client }) => {
  await client.agents.sessions.setStatus({
    channel_id: event.channel,
    thread_ts: event.thread_ts,
    status: "active",
  });
  report("stopped", { streams: event.streaming_message_ts, user: event.user });
});

app.event("agent_session_title_changed", async ({ event }) =>
  report("retitled", { title: event.title, before: event.previous_title }),
);

app.event("reaction_added", async ({ event }) => report("reaction", { name: event.reaction }));

app.message(async ({ message }) =>
  report("message", {
    text: message.text,
    subtype: message.subtype,
    files: (message.files ?? []).map((file) => file.name),
  }),
);

const modal = (about) => ({
  type: "modal",
  callback_id: "reason",
  private_metadata: JSON.stringify(about),
  title: plain("Why"),
  submit: plain("Send"),
  blocks: [
    {
      type: "input",
      block_id: "b",
      label: plain("Reason"),
      element: { type: "plain_text_input", action_id: "a" },
    },
  ],
});

app.action("why", async ({ ack, body, client, respond }) => {
  await ack();
  const { channel_id: channel, thread_ts: thread } = body.container;
  await client.views.open({ trigger_id: body.trigger_id, view: modal({ channel, thread }) });
  await respond({ text: "Say why.", response_type: "ephemeral", replace_original: false });
  report("opened", { user: body.user.id });
});

app.view("reason", async ({ ack, view, client }) => {
  const reason = view.state.values.b.a.value;
  if (reason === "no") {
    await ack({ response_action: "errors", errors: { b: "That is no reason." } });
    return report("declined");
  }
  await ack();
  const { channel, thread } = JSON.parse(view.private_metadata);
  await client.chat.postMessage({ channel, thread_ts: thread, text: `Because ${reason}.` });
  report("submitted", { reason });
});

app.command("/parley", async ({ ack, command, respond }) => {
  await ack(`You said ${command.text}.`);
  await respond("Anything else?");
  report("command", { text: command.text });
});

// Orders: the library's own way to call what no event asks for.
const ORDERS = {
  // Reads a channel page by page.
  async read({ channel }) {
    const texts = [];
    for await (const page of app.client.paginate("conversations.history", { channel, limit: 2 })) {
      texts.push(page.messages.map((message) => message.text));
    }
    return { pages: texts };
  },
  async upload({ channel, name, text }) {
    const answer = await app.client.filesUploadV2({ channel_id: channel, filename: name, content: text });
    return { ok: answer.ok };
  },
  async download({ url }) {
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    return { text: await answer.text() };
  },
  async rename({ channel, thread }) {
    const place = { channel_id: channel, thread_ts: thread, title: "One" };
    return app.client.agents.sessions.rename(place).then(
      () => ({ error: "" }),
      (error) => ({ error: error.data.error }),
    );
  },
  async post({ channel, text }) {
    const posted = await app.client.chat.postMessage({ channel, text });
    return { ts: posted.ts };
  },
};

readline
  .createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const { what, ...order } = JSON.parse(line);
    report(what, await ORDERS[what](order));
  })
  .on("close", async () => {
    await app.stop();
    process.exit(0);
  });

app.start(0).then(async (server) => {
  const port = overHttp ? server.address().port : 0;
  report("started", { bot: (await app.client.auth.test()).user_id, port });
});
