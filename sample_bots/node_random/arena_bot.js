// What a bot in JavaScript needs: `run(bot)` talks with the referee that started this process.
//
// A bot is an object with `act(turn)`, which returns one of `turn.legalActions`, and, if it likes,
// `name`, `parallelGames`, `prepare(welcome)`, `gameStarted(start)` and `gameOver(end)`. Messages
// are those of referee.proto with their fields in camel case; `act` may also return a promise.
"use strict";

const crypto = require("node:crypto");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const protoLoader = require("@grpc/proto-loader");

const PROTOCOL = { major: 1, minor: 0 };

exports.run = function run(bot) {
  const address = process.env.ARENA_BOT_ADDRESS;
  const token = process.env.ARENA_BOT_TOKEN;
  if (!address || token === undefined) {
    console.error("This is a bot: the arena starts it.");
    process.exit(1);
  }
  const definition = protoLoader.loadSync(path.join(__dirname, "referee.proto"), {
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const { RefereeService } = grpc.loadPackageDefinition(definition).referee.v1;
  const client = new RefereeService(address, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("arena-bot-token", token);
  const stream = client.Play(metadata);
  stream.on("error", (error) => {
    console.error(`The referee ended the stream: ${error.message}`);
    process.exit(1);
  });
  stream.on("end", () => client.close());
  converse(bot, stream);
};

function converse(bot, stream) {
  const outbox = new Outbox(stream);
  const starts = new Map();
  const turns = [];
  let welcome;
  let thinking = false;

  // One turn after the other, in the order in which they came. After each one the event loop
  // gets its chance to send the answer, so that no answer waits for the turn behind it.
  async function think() {
    thinking = true;
    while (turns.length > 0) {
      const turn = turns.shift();
      const before = process.hrtime.bigint();
      const action = await bot.act(turn);
      const elapsedUs = Number((process.hrtime.bigint() - before) / 1000n);
      outbox.answer({ game: turn.game, ply: turn.ply, action, elapsedUs });
      await new Promise(setImmediate);
    }
    thinking = false;
  }

  function read(news) {
    for (const start of news.gamesStarted) {
      starts.set(start.game, start);
      bot.gameStarted?.(start);
    }
    for (const end of news.gamesOver) {
      bot.gameOver?.(end);
      starts.delete(end.game);
    }
    for (const turn of news.turns) {
      const start = starts.get(turn.game);
      turn.seat = start.seat;
      turn.ruleset = welcome.ruleset;
      turn.seats = welcome.seats;
      turn.random = generator(start.seed, turn.ply);
      turns.push(turn);
    }
    if (!thinking) think();
  }

  stream.on("data", async (message) => {
    if (message.content === "turns") {
      read(message.turns);
    } else if (message.content === "welcome") {
      welcome = message.welcome;
      await bot.prepare?.(welcome);
      outbox.say({ ready: {} });
    } else if (message.content === "matchOver") {
      outbox.say({ goodbye: {} });
      stream.end();
    }
  });
  outbox.say({
    hello: {
      sdk: "arena_bot.js 1.0.0",
      protocol: PROTOCOL,
      name: bot.name ?? "",
      parallelGames: bot.parallelGames ?? 0,
    },
  });
}

// Sends all answers that are ready in one message, each time the message before it has left.
class Outbox {
  constructor(stream) {
    this.stream = stream;
    this.answers = [];
    this.writing = false;
  }

  say(message) {
    this.stream.write(message);
  }

  answer(action) {
    this.answers.push(action);
    if (!this.writing) this.send();
  }

  send() {
    this.writing = this.answers.length > 0;
    if (!this.writing) return;
    const actions = this.answers;
    this.answers = [];
    this.stream.write({ actions: { actions } }, () => this.send());
  }
}

// Returns a function that returns numbers from 0 up to 1 without it, the same ones whenever the
// same turn is asked again.
function generator(seed, ply) {
  let count = 0;
  return () => {
    const hash = crypto.createHash("sha256").update(seed).update(`/${ply}/${count++}`);
    return hash.digest().readUIntBE(0, 6) / 2 ** 48;
  };
}
