// Starts `fusewright lsp` for rule files in VS Code.
const {workspace} = require('vscode');
const {LanguageClient} = require('vscode-languageclient/node');

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration('fusewright');
  const rules = settings.get('rules').flatMap((path) => ['--rules', path]);
  const server = {command: settings.get('program'), args: ['lsp', ...rules]};
  client = new LanguageClient('fusewright', 'Fusewright', server, {documentSelector: [{language: 'fuse'}]});
  return client.start();
};

exports.deactivate = () => client?.stop();
