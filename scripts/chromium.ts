import { existsSync } from 'node:fs';
import { chromium } from 'playwright';

/**
 * Arguments for a headless Chromium. It may run as root, and it makes no requests except those of
 * its pages.
 */
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
 * Returns the paths of the installed Chromium browsers. If `CHROMIUM_PATH` is set, returns only
 * that path. Otherwise Playwright's own Chromium is the last one.
 */
export function chromiumCandidates(): readonly string[] {
  const { CHROMIUM_PATH } = process.env;
  return (CHROMIUM_PATH ? [CHROMIUM_PATH] : [...usualPlaces, chromium.executablePath()]).filter(
    (path) => existsSync(path),
  );
}

/**
 * Returns the path of the Chromium to use. If none is installed, returns the path where Playwright
 * would install one.
 */
export function chromiumPath(): string {
  return chromiumCandidates()[0] ?? chromium.executablePath();
}

// The headless shell comes first: with it, tests need a third less time.
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
