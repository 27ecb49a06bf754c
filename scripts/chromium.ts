import { existsSync } from 'node:fs';
import { chromium } from 'playwright';

/** For a headless Chromium that may run as root and asks nobody on the network. */
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
 * Where a Chromium lies: `CHROMIUM_PATH` alone when it is set, else the usual places, then
 * Playwright's own.
 */
export function chromiumCandidates(): readonly string[] {
  const { CHROMIUM_PATH } = process.env;
  return (CHROMIUM_PATH ? [CHROMIUM_PATH] : [...usualPlaces, chromium.executablePath()]).filter(
    (path) => existsSync(path),
  );
}

/** The Chromium to use; Playwright's own, present or not, where there is none. */
export function chromiumPath(): string {
  return chromiumCandidates()[0] ?? chromium.executablePath();
}

// The shell without windows comes first: it takes two thirds of the time.
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
