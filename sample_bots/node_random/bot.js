"use strict";

const { run } = require("./arena_bot.js");

// Plays any legal action; turn.random() makes the bot reproducible, Math.random() would not.
run({
  name: "node_random",
  act: (turn) => turn.legalActions[Math.floor(turn.random() * turn.legalActions.length)],
});
