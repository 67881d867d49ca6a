// The extension: starts the server, maps settings and commands. All else is the server's.

"use strict";

const { execFile } = require("node:child_process");
const { tmpdir } = require("node:os");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { commands, firstThatAnswers, missing, settingsOf } = require("./server");

const SECTION = "torchlint";
const FIX_ALL = "source.fixAll.torchlint";

let client;
let log;
let starting = Promise.resolve();

// The Python that the Python extension has for the first folder.
async function chosenPython() {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (!extension) {
    return null;
  }
  const api = extension.isActive ? extension.exports : await extension.activate();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const path = api?.environments?.getActiveEnvironmentPath(folder);
  const found = path && (await api.environments.resolveEnvironment(path));
  return found?.executable?.uri?.fsPath ?? null;
}

function answers({ command, args, env }) {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, cwd: tmpdir(), timeout: 30_000, windowsHide: true };
    execFile(command, [...args, "--check"], options, (error, out, err) => {
      if (error) {
        log.appendLine(`${command} ${args.join(" ")}: ${(err || error.message).trim()}`);
      }
      resolve(!error);
    });
  });
}

async function start() {
  const path = vscode.workspace.getConfiguration(SECTION).get("path");
  const found = await firstThatAnswers(commands(path, await chosenPython()), answers);
  if (found === null) {
    vscode.window.showErrorMessage(missing(path));
    return;
  }
  log.appendLine(`${found.command} ${found.args.join(" ")}`);
  const options = { env: { ...process.env, ...found.env }, cwd: tmpdir() };
  client = new LanguageClient(
    SECTION,
    "torchlint",
    { command: found.command, args: found.args, transport: TransportKind.stdio, options },
    {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" }, // their texts come with the notebook; this is for fixes and hover
      ],
      outputChannel: log,
      middleware: {
        workspace: {
          configuration: async (params, token, next) => {
            const given = await next(params, token);
            return Array.isArray(given) ? given.map(settingsOf) : given;
          },
        },
      },
    },
  );
  await client.start();
}

async function stop() {
  const old = client;
  client = undefined;
  await old?.stop();
}

// One after the other: settings and the chosen Python may change while the server starts.
function restart() {
  starting = starting.then(stop).then(start).catch((error) => {
    vscode.window.showErrorMessage(`torchlint: ${error.message}`);
  });
  return starting;
}

async function activate(context) {
  log = vscode.window.createOutputChannel("torchlint");
  context.subscriptions.push(
    log,
    vscode.commands.registerCommand("torchlint.restart", restart),
    vscode.commands.registerCommand("torchlint.showLog", () => log.show()),
    vscode.commands.registerCommand("torchlint.fixAll", () =>
      vscode.commands.executeCommand("editor.action.sourceAction", { kind: FIX_ALL, apply: "first" }),
    ),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("torchlint.path")) {
        restart();
      }
    }),
  );
  const python = vscode.extensions.getExtension("ms-python.python");
  const changed = python?.isActive && python.exports?.environments?.onDidChangeActiveEnvironmentPath;
  if (changed) {
    context.subscriptions.push(changed(restart));
  }
  await restart();
}

function deactivate() {
  return starting.then(stop);
}

module.exports = { activate, deactivate };
