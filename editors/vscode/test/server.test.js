"use strict";

const assert = require("node:assert");
const test = require("node:test");
const { commands, firstThatAnswers, missing, settingsOf } = require("../src/server");
const about = require("../package.json");

test("what the user names goes first, and alone", () => {
  assert.deepStrictEqual(commands("/x/torchlint", "/y/python"), [{ command: "/x/torchlint", args: ["server"], env: {} }]);
});

test("the chosen Python, and then the path; the folder's own files are not imported", () => {
  const [chosen, other] = commands(null, "/y/python");
  assert.deepStrictEqual(chosen.args, ["-m", "torchlint", "server"]);
  assert.strictEqual(chosen.env.PYTHONSAFEPATH, "1");
  assert.strictEqual(other.command, "torchlint");
  assert.deepStrictEqual(commands("", null), [other]);
});

test("the first that answers is taken", async () => {
  const asked = [];
  const answers = async ({ command }) => asked.push(command) === 2;
  const found = await firstThatAnswers(commands(null, "/y/python"), answers);
  assert.strictEqual(found.command, "torchlint");
  assert.deepStrictEqual(asked, ["/y/python", "torchlint"]);
  assert.strictEqual(await firstThatAnswers(commands("/x", null), async () => false), null);
});

test("the server hears of what is set, and of nothing that is ours", () => {
  const given = { run: "onSave", select: null, ignore: ["TL1"], path: "/x", trace: { server: "off" }, config: undefined };
  assert.deepStrictEqual(settingsOf(given), { run: "onSave", ignore: ["TL1"] });
  assert.deepStrictEqual(settingsOf(null), {});
});

test("what cannot be started says what to install", () => {
  assert.match(missing("/x/torchlint"), /\/x\/torchlint cannot be started.*torchlint\[server\]/);
  assert.match(missing(null), /pip install "torchlint\[server\]"/);
});

test("each setting has a default and a description", () => {
  for (const [name, setting] of Object.entries(about.contributes.configuration.properties)) {
    assert.ok(name.startsWith("torchlint."), name);
    assert.ok("default" in setting && (setting.description || setting.markdownDescription), name);
  }
});
