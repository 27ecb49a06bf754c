import { accessSync, constants, existsSync } from 'node:fs';
import { findChromium } from './chromium.ts';
import { runCommand, type CommandResult } from './run-command.ts';

/** Finds Chromium or installs it: Debian's package as root, else Playwright's download. The path is the output when it went well. */
export async function ensureChromium(): Promise<CommandResult> {
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH && !isExecutable(CHROMIUM_PATH)) {
    return { ok: false, output: `CHROMIUM_PATH is ${CHROMIUM_PATH}, which is no executable file. Correct it, or unset it.\n` };
  }
  const present = existing();
  if (present) return { ok: true, output: present };
  let tried = '';
  for (const install of installers()) {
    const { output } = await install();
    tried += output;
    const found = existing();
    if (found) return { ok: true, output: found };
  }
  return { ok: false, output: tried + advice };
}

type Installer = () => Promise<CommandResult>;

function installers(): readonly Installer[] {
  const playwright: Installer = () => runCommand('npx', ['playwright', 'install', 'chromium']);
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') ? [debianPackage, playwright] : [playwright];
}

async function debianPackage(): Promise<CommandResult> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const update = await runCommand('apt-get', ['update'], { env });
  const install = await runCommand('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], { env });
  return { ok: install.ok, output: update.output + install.output };
}

function existing(): string | undefined {
  const path = findChromium();
  return path !== undefined && isExecutable(path) ? path : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const advice = `
The tests need Chromium and could neither find nor install it. Any one of these helps:
  - Debian or Ubuntu:  sudo apt-get install chromium
  - any system:        npx playwright install --with-deps chromium
  - a Chromium or Chrome you have:  CHROMIUM_PATH=/path/to/chrome npm test
`;
