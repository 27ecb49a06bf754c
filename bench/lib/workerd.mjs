import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname } from 'node:path';

const packageFolder = dirname(createRequire(import.meta.url).resolve('workerd/package.json'));

/** The version of workerd that wrangler ships. */
export const workerdVersion = JSON.parse(
  readFileSync(`${packageFolder}/package.json`, 'utf8'),
).version;

const internet = '(name = "internet", network = (allow = ["private", "local"]))';

/** The export conditions under which Workers are bundled. */
export const workerConditions = ['workerd', 'worker', 'browser', 'module', 'import'];

/**
 * Starts workerd with `folder/worker.js` and waits until `GET /ready` answers. The Worker has no
 * modules of Node and no limits of the platform. `worker` adds lines to the Worker's configuration,
 * such as bindings. `services` adds services. With `inspect`, V8's inspector listens on
 * `inspector`.
 */
export async function startWorkerd({ folder, worker, services = '', inspect = false }) {
  const port = await freePort();
  const inspector = inspect ? await freePort() : undefined;
  const file = `${folder}/config-${port}.capnp`;
  const config = [
    'using Workerd = import "/workerd/workerd.capnp";',
    'const config :Workerd.Config = (',
    `  services = [(name = "main", worker = .main), ${internet}${services}],`,
    `  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);`,
    'const main :Workerd.Worker = (',
    '  modules = [(name = "worker.js", esModule = embed "worker.js")],',
    '  compatibilityDate = "2026-06-01",',
    '  globalOutbound = "internet",',
    `  ${worker});`,
  ];
  writeFileSync(file, `${config.join('\n')}\n`);
  const child = spawn(
    `${packageFolder}/bin/workerd`,
    [
      'serve',
      '--experimental',
      ...(inspect ? [`--inspector-addr=127.0.0.1:${inspector}`] : []),
      file,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  await untilAnswering(port, child);
  return { port, inspector, pid: child.pid, stop: () => child.kill('SIGKILL') };
}

async function untilAnswering(port, child) {
  for (let tries = 0; tries < 2000; tries++) {
    if (child.exitCode !== null) throw new Error(`workerd ended with ${child.exitCode}`);
    const response = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    // Any response shows that workerd is ready.
    if (response) return response.text();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('workerd does not answer');
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
