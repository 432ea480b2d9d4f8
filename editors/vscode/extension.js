// Starts `cep lsp` for .cep files. Plain JavaScript: there is nothing to build.
"use strict";

const path = require("path");
const vscode = require("vscode");

let client;

/** A relative path with a folder in it is relative to the workspace; a bare name is looked up in PATH. */
function resolveCommand(command, folder) {
  const inFolder = /[\\/]/.test(command) && !path.isAbsolute(command);
  return inFolder && folder ? path.join(folder, command) : command;
}

async function start() {
  const settings = vscode.workspace.getConfiguration("cep.server");
  if (!settings.get("enabled") || !vscode.workspace.isTrusted) return;
  const folders = vscode.workspace.workspaceFolders;
  const folder = folders && folders.length ? folders[0].uri.fsPath : undefined;
  const command = resolveCommand(settings.get("command"), folder);
  try {
    const { LanguageClient } = require("vscode-languageclient/node");
    client = new LanguageClient(
      "cep",
      "CEP language server",
      { command, args: ["lsp"], options: { cwd: folder } },
      {
        documentSelector: [{ language: "cep" }],
        synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.cep") },
      },
    );
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showWarningMessage(
      `Cannot start \`${command} lsp\`: ${error.message}. Install it with: pip install 'cep-engine[lsp]', ` +
        "or set cep.server.command.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) await running.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("cep.restart", restart),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("cep.server") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop, resolveCommand };
