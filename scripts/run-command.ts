import { spawn, type ChildProcess } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { commandLine } from './command-line.ts';
import { root } from './root.ts';
import { killTree } from './stop-process.ts';

export interface CommandResult {
  readonly ok: boolean;
  /** Text of standard output and standard error, in the order of writing. */
  readonly output: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory. Default: the repository's root. */
  readonly cwd?: string;
  /**
   * Receives the messages that the command sends over an IPC channel. Without this function there
   * is no channel.
   */
  readonly onMessage?: (message: unknown) => void;
  /**
   * Maximum time without output or a message, in milliseconds. After it, the command and its
   * process group are killed. Default: 10 minutes. The total time has no limit.
   */
  readonly silenceMs?: number;
}

/**
 * Returns the environment of child processes: `node_modules/.bin` (with Node 24) comes first on
 * PATH, and telemetry is off.
 */
export function quietEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_HIDE_BANNER: 'true',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    DO_NOT_TRACK: '1',
  };
}

/** Commands that are still running. */
const running = new Set<ChildProcess>();

/** Kills all running commands. Ctrl-C does not reach their process groups. */
export function killCommands(): void {
  for (const child of running) killTree(child);
}

/**
 * Runs a command without a terminal, and resolves with its output when it has ended. Never rejects.
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { env = {}, cwd = root, onMessage, silenceMs = 600_000 } = options;
  return new Promise((resolve) => {
    let output = '';
    const line = commandLine(command, args);
    const child = spawn(line.file, line.args, {
      cwd,
      env: { ...quietEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe', ...(onMessage ? ['ipc' as const] : [])],
      // The command gets its own process group, so that a kill also reaches its children, such as
      // workerd. On Windows it would get a window instead.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    const watch = setTimeout(() => {
      output += `\nStopped after ${silenceMs / 60_000} minutes without a report: ${command} ${args.join(' ')}\n`;
      killTree(child);
    }, silenceMs);
    running.add(child);
    const keep = (data: string): void => {
      watch.refresh();
      output += data;
    };
    child.stdout!.setEncoding('utf8').on('data', keep);
    child.stderr!.setEncoding('utf8').on('data', keep);
    child.on('message', (message) => {
      watch.refresh();
      onMessage?.(message);
    });
    child.on('error', (error) => void (output += `${error.message}\n`));
    child.on('close', (code) => {
      clearTimeout(watch);
      running.delete(child);
      resolve({ ok: code === 0, output });
    });
  });
}
