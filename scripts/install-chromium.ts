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
  for (const install of installers()) {
    const { output } = await install();
    tried += output;
    const found = await working();
    if (found) return { ok: true, output: found };
  }
  return { ok: false, output: tried + advice };
}

type Installer = () => Promise<CommandResult>;

function installers(): readonly Installer[] {
  if (process.getuid?.() !== 0) return [() => runCommand('playwright', ['install', 'chromium'])];
  const playwright: Installer = () =>
    runCommand('playwright', ['install', '--with-deps', 'chromium']);
  return existsSync('/etc/debian_version') ? [debianPackage, playwright] : [playwright];
}

async function debianPackage(): Promise<CommandResult> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const update = await runCommand('apt-get', ['update'], { env });
  const install = await runCommand(
    'apt-get',
    ['install', '-y', '--no-install-recommends', 'chromium-headless-shell'],
    { env },
  );
  return { ok: install.ok, output: update.output + install.output };
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

const advice = `
The tests need Chromium and could neither find nor install it. Any one of these helps:
  - Debian or Ubuntu:  sudo apt-get install chromium-headless-shell
  - any system:        npx playwright install --with-deps chromium
  - a Chromium or Chrome you have:  CHROMIUM_PATH=/path/to/chrome npm test
`;
