import { spawn } from 'node:child_process';
import { delimiter } from 'node:path';
import { root } from './root.ts';

export interface CommandResult {
  readonly ok: boolean;
  /** What it wrote to standard output and standard error, as it came. */
  readonly output: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds until it and its children are killed; default 10 minutes. */
  readonly timeoutMs?: number;
  /** Default: the repository's root. */
  readonly cwd?: string;
}

/** The environment of everything we start: local binaries first (Node 24 among them), nothing reported to anyone. */
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
  const { env = {}, timeoutMs = 600_000, cwd = root } = options;
  return new Promise((resolve) => {
    let output = '';
    const keep = (data: Buffer): void => void (output += data.toString());
    // A process group of its own, so that a time-out reaches the browsers and runtimes it started.
    const child = spawn(command, args, {
      cwd,
      env: { ...quietEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const timer = setTimeout(() => {
      output += `\nStopped after ${timeoutMs / 1000} s: ${command} ${args.join(' ')}\n`;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => void (output += `${error.message}\n`));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ ok: code === 0, output });
    });
  });
}
