// How the server is started, and what it is told of the settings. Knows nothing of VS Code, so that node alone can test it.

"use strict";

// Settings of this extension, which are none of the server's.
const OURS = new Set(["path", "trace"]);

// The commands to try, best first: what the user names, the Python that is chosen for the folder, what the path has.
function commands(path, python) {
  const safe = { PYTHONSAFEPATH: "1" }; // a folder may have a torchlint.py of its own
  if (path) {
    return [{ command: path, args: ["server"], env: {} }];
  }
  const chosen = python ? [{ command: python, args: ["-m", "torchlint", "server"], env: safe }] : [];
  return [...chosen, { command: "torchlint", args: ["server"], env: {} }];
}

// The first command that answers, as `torchlint server --help` does where all it needs is installed.
async function firstThatAnswers(candidates, answers) {
  for (const candidate of candidates) {
    if (await answers(candidate)) {
      return candidate;
    }
  }
  return null;
}

// What the server is told of a section of settings: what is not set is left out.
function settingsOf(section) {
  if (section === null || typeof section !== "object") {
    return {};
  }
  return Object.fromEntries(
    Object.entries(section).filter(([name, value]) => !OURS.has(name) && value !== null && value !== undefined),
  );
}

// What is said where no server can be started.
function missing(path) {
  return path
    ? `torchlint: ${path} cannot be started as a server: is it there, with pip install "torchlint[server]"?`
    : 'torchlint is not installed for the chosen Python, nor on the path: pip install "torchlint[server]"';
}

module.exports = { commands, firstThatAnswers, missing, settingsOf };
