import { existsSync } from 'node:fs';
import { chromiumCandidates } from './chromium.ts';
import { runCommand, type CommandResult } from './run-command.ts';

/**
 * Finds or installs Chromium. As root on Debian or Ubuntu it installs the distribution's package,
 * otherwise Playwright's download. If it succeeds, `output` is the path of Chromium.
 */
export async function ensureChromium(): Promise<CommandResult> {
  const { CHROMIUM_PATH } = process.env;
  const present = await working();
  if (present) return { ok: true, output: present };
  if (CHROMIUM_PATH)
    return {
      ok: false,
      output: `The browser at CHROMIUM_PATH (${CHROMIUM_PATH}) does not start. Correct the path, or unset it.\n`,
    };
  let tried = '';
  for (const command of installCommands(thisSystem())) {
    const { output } = await runCommand(command[0], command.slice(1), {
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    });
    tried += output;
    const found = await working();
    if (found) return { ok: true, output: found };
  }
  return { ok: false, output: tried + adviceFor(process.platform) };
}

/** What decides how Chromium can be installed. */
export interface System {
  readonly platform: NodeJS.Platform;
  readonly isRoot: boolean;
  /** Whether the system is Debian, or is made from it, such as Ubuntu. */
  readonly isDebian: boolean;
}

type Command = readonly [name: string, ...args: string[]];

/** Returns the commands that may install Chromium. Run them in order until there is one. */
export function installCommands({ platform, isRoot, isDebian }: System): readonly Command[] {
  if (platform !== 'linux' || !isRoot) return [['playwright', 'install', 'chromium']];
  const playwright: Command = ['playwright', 'install', '--with-deps', 'chromium'];
  if (!isDebian) return [playwright];
  const install = ['install', '-y', '--no-install-recommends', 'chromium-headless-shell'];
  return [['apt-get', 'update'], ['apt-get', ...install], playwright];
}

function thisSystem(): System {
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    isDebian: existsSync('/etc/debian_version'),
  };
}

/**
 * Returns the first Chromium that starts with `--version`. This finds out whether it works:
 * Ubuntu's package is only a script that asks for snap. On Windows it returns the first Chromium,
 * because Chrome has no `--version` there.
 */
async function working(): Promise<string | undefined> {
  for (const path of chromiumCandidates()) {
    if (process.platform === 'win32') return path;
    const { ok } = await runCommand(path, ['--version'], { silenceMs: 120_000 });
    if (ok) return path;
  }
  return undefined;
}

/** Returns what a person can do on an operating system if there is no Chromium. */
export function adviceFor(platform: NodeJS.Platform): string {
  const isLinux = platform === 'linux';
  const ways = [
    isLinux
      ? 'Debian or Ubuntu:  sudo apt-get install chromium-headless-shell'
      : 'Install Chrome:  https://www.google.com/chrome',
    `Download Chromium:  npx playwright install ${isLinux ? '--with-deps ' : ''}chromium`,
    'Use a Chromium or Chrome that you have: set the environment variable CHROMIUM_PATH to its path.',
  ];
  const lines = ways.map((way) => `  - ${way}\n`).join('');
  return `\nThe tests need Chromium and could neither find nor install it. Any one of these helps:\n${lines}`;
}
