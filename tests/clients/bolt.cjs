// A second client, independent of the Python SDK: @slack/bolt for JavaScript over Socket Mode.
// It streams an answer to a mention, closes it with a button, and opens a modal on its click.
// It reports on standard output, a line of JSON for each thing that happens.

const { App, LogLevel } = require("@slack/bolt");

const report = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));

const app = new App({
  token: process.env.BOT_TOKEN,
  appToken: process.env.APP_TOKEN,
  socketMode: true,
  logLevel: LogLevel.ERROR,
  clientOptions: { slackApiUrl: process.env.API_URL },
});

app.event("app_mention", async ({ event, client }) => {
  report("mention", { text: event.text });
  const stream = client.chatStream({
    channel: event.channel,
    thread_ts: event.thread_ts ?? event.ts,
    recipient_team_id: event.team,
    recipient_user_id: event.user,
    buffer_size: 1,
  });
  await stream.append({ markdown_text: "Looking, " });
  await stream.append({
    chunks: [{ type: "task_update", id: "1", title: "Search", status: "complete" }],
  });
  await stream.append({ markdown_text: "found." });
  await stream.stop({
    blocks: [
      {
        type: "actions",
        elements: [
          { type: "button", action_id: "why", text: { type: "plain_text", text: "Why?" } },
        ],
      },
    ],
  });
  report("streamed");
});

app.message(async ({ message }) => report("message", { text: message.text }));

app.action("why", async ({ ack, body, client }) => {
  await ack();
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: "modal",
      callback_id: "reason",
      private_metadata: JSON.stringify({
        channel: body.container.channel_id,
        thread: body.container.thread_ts,
      }),
      title: { type: "plain_text", text: "Why" },
      submit: { type: "plain_text", text: "Send" },
      blocks: [
        {
          type: "input",
          block_id: "b",
          label: { type: "plain_text", text: "Reason" },
          element: { type: "plain_text_input", action_id: "a" },
        },
      ],
    },
  });
  report("opened");
});

app.view("reason", async ({ ack, view, client }) => {
  await ack();
  const { channel, thread } = JSON.parse(view.private_metadata);
  const reason = view.state.values.b.a.value;
  await client.chat.postMessage({ channel, thread_ts: thread, text: `Because ${reason}.` });
  report("submitted", { reason });
});

app.command("/parley", async ({ ack, command }) => {
  await ack(`You said ${command.text}.`);
  report("command", { text: command.text });
});

process.stdin.resume();
process.stdin.on("end", async () => {
  await app.stop();
  process.exit(0);
});

app.start().then(async () => report("started", { bot: (await app.client.auth.test()).user_id }));
