import { spawn, type ChildProcess } from 'node:child_process';
import { delimiter } from 'node:path';
import { root } from './root.ts';

export interface CommandResult {
  readonly ok: boolean;
  /** What it wrote to standard output and standard error, in order. */
  readonly output: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the repository's root. */
  readonly cwd?: string;
  /** Receives the messages that the command sends over an IPC channel. Default: no channel. */
  readonly onMessage?: (message: unknown) => void;
  /**
   * The command and its children are killed after this time without any output or message: it hangs. Milliseconds; default 10 minutes.
   * A command that goes on reporting has no time limit.
   */
  readonly silenceMs?: number;
}

/** The environment of everything we start: local binaries first (Node 24 among them), no telemetry. */
export function quietEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${root}/node_modules/.bin${delimiter}${process.env['PATH'] ?? ''}`,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_HIDE_BANNER: 'true',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    DO_NOT_TRACK: '1',
  };
}

/** Runs a command to its end without a terminal, and keeps its output. Never rejects. */
export function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { env = {}, cwd = root, onMessage, silenceMs = 600_000 } = options;
  return new Promise((resolve) => {
    let output = '';
    // A process group of its own, so that a kill reaches the browsers and runtimes it started.
    const child = spawn(command, args, {
      cwd,
      env: { ...quietEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe', ...(onMessage ? ['ipc' as const] : [])],
      detached: true,
    });
    const watch = setTimeout(() => {
      output += `\nStopped after ${silenceMs / 60_000} minutes without a report: ${command} ${args.join(' ')}\n`;
      killGroup(child);
    }, silenceMs);
    const keep = (data: Buffer): void => {
      watch.refresh();
      output += data.toString();
    };
    child.stdout!.on('data', keep);
    child.stderr!.on('data', keep);
    child.on('message', (message) => {
      watch.refresh();
      onMessage!(message);
    });
    child.on('error', (error) => void (output += `${error.message}\n`));
    child.on('close', (code) => {
      clearTimeout(watch);
      resolve({ ok: code === 0, output });
    });
  });
}

function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}
