import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { commandLine } from './command-line.ts';
import { quietEnvironment } from './run-command.ts';
import { root } from './root.ts';
import { stopProcess } from './stop-process.ts';

export interface LocalEdgeOptions {
  readonly port: number;
  /** Folder for the data of the simulated KV and Durable Objects. Default: `.wrangler/state`. */
  readonly persistTo?: string;
  /** Path of Wrangler's configuration file. Default: `wrangler.toml`. */
  readonly config?: string;
  /** Variables of the Worker, in addition to the variables in the configuration file. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Folder of static files. Default: the folder in the configuration file. */
  readonly assets?: string;
}

export interface LocalEdge {
  readonly url: string;
  /** Resolves with the exit code when the server ends. */
  readonly exited: Promise<number>;
  /** Returns the server's output so far. */
  log(): string;
  stop(): Promise<void>;
}

/**
 * Starts `wrangler dev` on loopback, with all services simulated on this machine. Call
 * `untilHealthy()` to wait until the server answers.
 */
export function startLocalEdge({
  port,
  persistTo = '.wrangler/state',
  config = 'wrangler.toml',
  vars = {},
  assets,
}: LocalEdgeOptions): LocalEdge {
  const args = [
    'dev',
    '--config',
    config,
    '--local',
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--inspector-port',
    '0',
    '--persist-to',
    persistTo,
    ...(assets === undefined ? [] : ['--assets', assets]),
  ];
  const given = Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}:${value}`]);
  const quiet = ['--show-interactive-dev-session=false', '--log-level', 'warn'];
  const line = commandLine('wrangler', [...args, ...given, ...quiet]);
  const child = spawn(line.file, line.args, {
    cwd: root,
    env: quietEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  let output = '';
  const keep = (data: Buffer): void => void (output = (output + data.toString()).slice(-100_000));
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited = new Promise<number>((resolve) => {
    child.on('exit', (code) => resolve(code ?? 1));
    child.on('error', (error) => {
      output += error.message;
      resolve(1);
    });
  });
  return {
    url: `http://127.0.0.1:${port}`,
    exited,
    log: () => output,
    stop: () => stop(child, exited),
  };
}

/**
 * Waits until `path` (default: `/healthz`) answers. Rejects if the server ends before, or after
 * `timeoutMs` milliseconds (default 180,000).
 */
export async function untilHealthy(
  { url, exited, log }: LocalEdge,
  { path = '/healthz', timeoutMs = 180_000 }: { path?: string; timeoutMs?: number } = {},
): Promise<void> {
  let ended = false;
  void exited.then(() => (ended = true));
  const deadline = Date.now() + timeoutMs;
  while (!ended && Date.now() < deadline) {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(10_000) }).catch(
      () => undefined,
    );
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${ended ? 'The server ended' : `No answer from ${url}${path}`}:\n${log()}`);
}

/** Returns whether a port is free on loopback. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * Returns the port from `PORT`, or the default. Ends the process with a message if the port is
 * invalid or taken.
 */
export async function portFromEnvironment(defaultPort: number): Promise<number> {
  const { PORT } = process.env;
  const port = PORT ? Number(PORT) : defaultPort;
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    fail(`PORT must be a number from 1 to 65535; got ${PORT}.`);
  if (!(await isPortFree(port))) {
    const other = port === 8787 ? 8799 : 8787;
    fail(
      `Port ${port} of 127.0.0.1 is taken. Set the environment variable PORT to another, such as ${other}.`,
    );
  }
  return port;
}

export function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

async function stop(child: ChildProcess, exited: Promise<number>): Promise<void> {
  stopProcess(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  await exited;
  clearTimeout(timer);
}
