import { spawn } from 'node:child_process';
import { createServer } from 'vite';
import { commandLine } from './command-line.ts';
import {
  fail,
  isPortFree,
  portFromEnvironment,
  startLocalEdge,
  untilHealthy,
} from './local-edge.ts';
import { startSiteServer } from './docs/site-server.ts';
import { isSiteBuilt } from './docs/site-state.ts';
import { onStop } from './on-stop.ts';
import { packageFolders } from './packages.ts';
import { root } from './root.ts';
import { quietEnvironment, runCommand } from './run-command.ts';
import { stopProcess } from './stop-process.ts';

const port = await portFromEnvironment(5173);
console.log('Building …');
const built = await runCommand('tsc', ['-b', ...packageFolders.map((name) => `packages/${name}`)]);
if (!built.ok) fail(built.output);
const page = await runCommand('vite', ['build']);
if (!page.ok) fail(page.output);

const edge = startLocalEdge({ port: await freePortAfter(8787) });
const watch = commandLine('tsc', [
  '-b',
  '--watch',
  '--preserveWatchOutput',
  ...packageFolders.map((name) => `packages/${name}`),
]);
const compiler = spawn(watch.file, watch.args, {
  cwd: root,
  env: quietEnvironment(),
  stdio: ['ignore', 'inherit', 'inherit'],
});
const docs = await startSiteServer({ isBuilt: isSiteBuilt() });
const proxy = {
  ...Object.fromEntries(['/api', '/v1', '/healthz'].map((path) => [path, { target: edge.url }])),
  '/docs': { target: docs.url },
};
const vite = await createServer({
  configFile: `${root}/vite.config.ts`,
  server: { host: '127.0.0.1', port, strictPort: true, proxy },
});

let stopping = false;
onStop(() => void stop(0));
void edge.exited.then(() => {
  if (!stopping) console.error(edge.log());
  return stop(1);
});
await untilHealthy(edge);
await vite.listen();
console.log(
  `\n  Page   http://127.0.0.1:${port}   reloads when a source changes\n  Edge   ${edge.url}   also reachable through the page's address\n`,
);

async function stop(code: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  stopProcess(compiler);
  await Promise.all([vite.close(), edge.stop()]);
  process.exit(code);
}

async function freePortAfter(first: number): Promise<number> {
  for (let candidate = first; candidate < first + 50; candidate++)
    if (await isPortFree(candidate)) return candidate;
  return fail(`Ports ${first} to ${first + 50} are all taken.`);
}
