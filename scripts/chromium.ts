import { existsSync } from 'node:fs';
import { win32 } from 'node:path';
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
  const usual = [...usualPlaces(process.platform, process.env), chromium.executablePath()];
  return (CHROMIUM_PATH ? [CHROMIUM_PATH] : usual).filter((path) => existsSync(path));
}

/**
 * Returns the path of the Chromium to use. If none is installed, returns the path where Playwright
 * would install one.
 */
export function chromiumPath(): string {
  return chromiumCandidates()[0] ?? chromium.executablePath();
}

/** Returns where installers put Chromium, Chrome and Edge on an operating system, best first. */
export function usualPlaces(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  switch (platform) {
    case 'win32':
      return windowsPlaces(env);
    case 'darwin':
      return ['Google Chrome', 'Chromium', 'Microsoft Edge'].map(
        (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
      );
    default:
      return linuxPlaces;
  }
}

// The headless shell comes first: with it, tests need a third less time.
const linuxPlaces = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/usr/bin/microsoft-edge',
];

/** Chrome for all users or for one user, then Edge, which each Windows has. */
function windowsPlaces({
  ProgramFiles,
  'ProgramFiles(x86)': ProgramFiles86,
  LOCALAPPDATA,
}: Readonly<Record<string, string | undefined>>): readonly string[] {
  const folders = [ProgramFiles, ProgramFiles86, LOCALAPPDATA].filter(
    (folder) => folder !== undefined,
  );
  const browsers = [
    'Google\\Chrome\\Application\\chrome.exe',
    'Microsoft\\Edge\\Application\\msedge.exe',
  ];
  return browsers.flatMap((browser) => folders.map((folder) => win32.join(folder, browser)));
}
