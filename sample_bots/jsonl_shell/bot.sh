#!/bin/sh
# Plays the first legal action. With `protocol = "jsonl"` in bot.toml every message is one line of
# JSON on stdin or stdout, so that any language will do; what is printed to stderr is the log.

# The first thing that follows "KEY": in the line, without quotes and brackets.
field() {
    value=${line#*"\"$1\":"}
    value=${value#[}
    value=${value#\"}
    value=${value%%[\",\}]*}
}

while IFS= read -r line; do
    case $line in
    '{"welcome":'*)
        echo '{"ready":{}}'
        ;;
    '{"turn":'*)
        field game && game=$value
        field ply && ply=$value
        field legal_actions
        echo "{\"action\":{\"game\":$game,\"ply\":$ply,\"action\":\"$value\"}}"
        ;;
    esac
done
