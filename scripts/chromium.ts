import { existsSync } from 'node:fs';
import { chromium } from 'playwright';

/** Arguments for a headless Chromium that may run as root and makes no requests of its own. */
export const chromiumArgs: string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Returns the paths where a Chromium exists. If `CHROMIUM_PATH` is set, it is the only one.
 * Otherwise the usual places come before Playwright's own.
 */
export function chromiumCandidates(): readonly string[] {
  const { CHROMIUM_PATH } = process.env;
  return (CHROMIUM_PATH ? [CHROMIUM_PATH] : [...usualPlaces, chromium.executablePath()]).filter(
    (path) => existsSync(path),
  );
}

/** Returns the Chromium to use. Falls back to Playwright's path, even if no browser is there. */
export function chromiumPath(): string {
  return chromiumCandidates()[0] ?? chromium.executablePath();
}

// The headless shell comes first, because it takes two thirds of the time.
const usualPlaces = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
