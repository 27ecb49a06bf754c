import { startSiteServer } from './docs/site-server.ts';
import { isSiteBuilt } from './docs/site-state.ts';
import { fail, portFromEnvironment, startLocalEdge, untilHealthy } from './local-edge.ts';
import { onStop } from './on-stop.ts';
import { packageFolders } from './packages.ts';
import { killCommands, runCommand } from './run-command.ts';

const port = await portFromEnvironment(8787);
console.log('Building …');
for (const [command, args] of [
  ['tsc', ['-b', ...packageFolders.map((name) => `packages/${name}`)]],
  ['vite', ['build']],
] as const) {
  const { ok, output } = await runCommand(command, args);
  if (!ok) fail(`${output}\n${command} failed.`);
}
console.log('Starting …');
const isBuilt = isSiteBuilt();
const docs = await startSiteServer({ isBuilt });
const edge = startLocalEdge({ port, vars: { DOCS_URL: docs.url } });
let stopping = false;
onStop(() => {
  stopping = true;
  killCommands(); // the build of the docs may still run
  void edge.stop().then(() => process.exit(0));
});
try {
  await untilHealthy(edge);
} catch (error) {
  if (!stopping) {
    await edge.stop();
    fail(error instanceof Error ? error.message : String(error));
  }
}
if (!stopping) console.log(greeting(edge.url));
const code = await edge.exited;
if (!stopping) fail(`The server ended (exit code ${code}):\n${edge.log()}`);

function greeting(url: string): string {
  return `
  Isoloop runs on this machine; nothing leaves it.

  Open   ${url}
  Read   ${url}/docs${isBuilt ? '' : '   (search and API reference follow: the first page builds them)'}
  Try    What time is it in Tokyo, and what is 17 * 23?
         Note: the keys are under the mat.  Then reload the page and ask: Show my notes.

  The same agent as an endpoint, in another terminal:

  curl -N ${url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"offline","stream":true,"messages":[{"role":"user","content":"What is 17 * 23?"}]}'

  curl -N ${url}/api/chat -H 'content-type: application/json' \\
    -d '{"id":"demo","messages":[{"role":"user","parts":[{"type":"text","text":"What time is it in Tokyo?"}]}]}'

  Conversations of the endpoint are kept in .wrangler/state. Ctrl-C stops everything.
`;
}
