// A second client, independent of the Python SDK: discord.js. It registers a command, answers a
// mention in a thread with a button, and edits its answer on the button's click.
// It reports on standard output, a line of JSON for each thing that happens, and takes orders.

const { createInterface } = require("node:readline");
const {
  ActionRowBuilder,
  ApplicationCommandType,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelType,
  Client,
  Events,
  GatewayIntentBits,
  MessageFlags,
  ModalBuilder,
  Partials,
  SlashCommandBuilder,
  TextInputBuilder,
  TextInputStyle,
} = require("discord.js");

const report = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));

const client = new Client({
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.DirectMessages,
    GatewayIntentBits.MessageContent,
  ],
  partials: [Partials.Channel],
  rest: { api: process.env.API, version: "10", retries: 0 },
});

const button = (id, label) =>
  new ActionRowBuilder().addComponents(
    new ButtonBuilder().setCustomId(id).setLabel(label).setStyle(ButtonStyle.Primary),
  );

client.once(Events.ClientReady, async () => {
  const commands = [
    new SlashCommandBuilder()
      .setName("ask")
      .setDescription("Ask something")
      .addStringOption((option) =>
        option.setName("text").setDescription("The question").setRequired(true),
      )
      .toJSON(),
    { name: "Explain", type: ApplicationCommandType.Message },
  ];
  const made = await client.application.commands.set(commands);
  report("started", { user: client.user.id, commands: made.map((each) => each.name).sort() });
});

client.on(Events.MessageCreate, async (message) => {
  if (message.author.bot) return;
  const reference = message.reference && (await message.fetchReference());
  report("message", {
    text: message.content,
    author: message.author.globalName ?? message.author.username,
    thread: message.channel.isThread(),
    direct: message.channel.isDMBased(),
    answers: reference?.content ?? null,
    files: message.attachments.map((each) => each.name),
  });
  if (!message.mentions.has(client.user)) return;
  const thread = await message.startThread({ name: "An answer", autoArchiveDuration: 1440 });
  await thread.sendTyping();
  const answer = await thread.send({ content: "Loo", components: [button("why", "Why?")] });
  await answer.edit("Looked.");
  await message.reply({
    content: "See the thread.",
    files: [new AttachmentBuilder(Buffer.from("found"), { name: "found.txt" })],
    allowedMentions: { repliedUser: false },
  });
  report("answered", { thread: thread.id, archived: thread.archived, locked: thread.locked });
});

client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isChatInputCommand()) {
    await interaction.deferReply({ flags: MessageFlags.Ephemeral });
    await interaction.editReply(`You asked ${interaction.options.getString("text")}`);
    await interaction.followUp({ content: "And more.", flags: MessageFlags.Ephemeral });
    report("command", { guild: interaction.guild.name, user: interaction.user.username });
  } else if (interaction.isMessageContextMenuCommand()) {
    const { targetMessage } = interaction;
    const response = await interaction.reply({
      content: `It says ${targetMessage.content}`,
      withResponse: true,
    });
    report("menu", {
      files: targetMessage.attachments.map((each) => each.name),
      mentions: targetMessage.mentions.users.map((each) => each.username),
      response: response.resource.message.id,
    });
  } else if (interaction.isButton() && interaction.customId === "why") {
    const reason = new TextInputBuilder()
      .setCustomId("reason")
      .setLabel("Reason")
      .setStyle(TextInputStyle.Paragraph);
    const form = new ModalBuilder()
      .setCustomId("form")
      .setTitle("Why")
      .addComponents(new ActionRowBuilder().addComponents(reason));
    await interaction.showModal(form);
    report("opened");
  } else if (interaction.isModalSubmit()) {
    const reason = interaction.fields.getTextInputValue("reason");
    await interaction.update({ content: `Because ${reason}.`, components: [] });
    report("submitted", { reason });
  }
});

client.on(Events.ThreadUpdate, (before, after) =>
  report("thread", { name: after.name, archived: after.archived, locked: after.locked }),
);
client.on(Events.MessageDelete, (message) => report("deleted", { message: message.id }));
client.on(Events.ShardResume, () => report("resumed"));
client.rest.on("rateLimited", (found) => report("limited", { seconds: found.timeToReset / 1000 }));

const orders = {
  private: async ({ channel, guest }) => {
    const home = await client.channels.fetch(channel);
    const thread = await home.threads.create({
      name: "Secret",
      type: ChannelType.PrivateThread,
      invitable: true,
    });
    await thread.members.add(guest);
    return { thread: thread.id, invitable: thread.invitable };
  },
  says: async ({ channel, text }) => {
    const place = await client.channels.fetch(channel);
    return { message: (await place.send(text)).id };
  },
  edits: async ({ channel, message, text }) => {
    const place = await client.channels.fetch(channel);
    return { text: (await place.messages.edit(message, text)).content };
  },
  history: async ({ channel }) => {
    const place = await client.channels.fetch(channel);
    return { texts: (await place.messages.fetch({ limit: 50 })).map((each) => each.content) };
  },
  renames: async ({ channel, name }) => {
    const place = await client.channels.fetch(channel);
    return { name: (await place.setName(name)).name };
  },
  commands: async () => ({
    names: (await client.application.commands.fetch()).map((each) => each.name).sort(),
  }),
};

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { what, ...more } = JSON.parse(line);
  try {
    report(what, await orders[what](more));
  } catch (error) {
    report(what, { error: error.code ?? error.message, status: error.status ?? null });
  }
});
lines.on("close", async () => {
  await client.destroy();
  process.exit(0);
});

client.login(process.env.TOKEN);
