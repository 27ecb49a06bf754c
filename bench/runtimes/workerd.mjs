import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { bundle } from '../lib/bundle.mjs';
import { cpuTimeOf } from '../lib/cpu-time.mjs';

const benchFolder = `${import.meta.dirname}/..`;
const workerdFolder = dirname(createRequire(import.meta.url).resolve('workerd/package.json'));

/** workerd as wrangler ships it, without Node's modules and without the platform's limits: a process for each contender. */
export async function openRuntime({ origin, bundles }) {
  const binary = `${workerdFolder}/bin/workerd`;
  return {
    version: JSON.parse(readFileSync(`${workerdFolder}/package.json`, 'utf8')).version,
    async start(name, scenario) {
      const folder = `${bundles}/workerd-${name}`;
      mkdirSync(folder, { recursive: true });
      await bundle(workerSource(name), { file: `${folder}/worker.js`, conditions: ['workerd', 'worker', 'browser', 'module', 'import'] });
      const port = await freePort();
      writeFileSync(`${folder}/config.capnp`, config(port, origin));
      const child = spawn(binary, ['serve', `${folder}/config.capnp`], { stdio: ['ignore', 'inherit', 'inherit'] });
      const run = async (inner) => {
        const response = await fetch(`http://127.0.0.1:${port}/?scenario=${scenario}&inner=${inner}`);
        if (!response.ok) throw new Error(`${name}, ${scenario}: ${await response.text()}`);
      };
      await untilAnswering(port, child);
      return {
        async rep(inner) {
          const [cpu, begin] = [cpuTimeOf(child.pid), performance.now()];
          await run(inner);
          return { cpu: (cpuTimeOf(child.pid) - cpu) / inner, wall: (performance.now() - begin) / inner };
        },
        stop: () => child.kill('SIGKILL'),
      };
    },
    close: async () => undefined,
  };
}

function workerSource(name) {
  return `
import { run } from ${JSON.stringify(`${benchFolder}/contenders/${name}.mjs`)};
import { clientScenario, runOnce } from ${JSON.stringify(`${benchFolder}/lib/scenarios.mjs`)};
const known = {};
export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const scenario = searchParams.get('scenario');
    if (!scenario) return new Response('ready');
    try {
      const sc = (known[scenario] ??= clientScenario(scenario));
      for (let i = 0; i < Number(searchParams.get('inner')); i++) await runOnce(run, sc, env.ORIGIN + '/' + scenario + '/v1');
      return new Response('done');
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 });
    }
  },
};`;
}

function config(port, origin) {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["private", "local"]))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-06-01",
  globalOutbound = "internet",
  bindings = [(name = "ORIGIN", text = "${origin}")]);
`;
}

async function untilAnswering(port, child) {
  for (let tries = 0; tries < 2000; tries++) {
    if (child.exitCode !== null) throw new Error(`workerd ended with ${child.exitCode}`);
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    if (response?.ok) return response.text();
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
