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

/** The Chromium to use: `CHROMIUM_PATH`, else a usual place, else Playwright's own; `undefined` where there is none. */
export function findChromium(): string | undefined {
  const { CHROMIUM_PATH } = process.env;
  if (CHROMIUM_PATH) return CHROMIUM_PATH;
  return [...usualPlaces, chromium.executablePath()].find((path) => existsSync(path));
}

export function chromiumPath(): string {
  return findChromium() ?? chromium.executablePath();
}

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
