import { readFileSync, writeFileSync } from 'node:fs';
import { outputFolder } from './site-folders.ts';
import type { SidebarGroup } from './sidebar.ts';

const file = `${outputFolder}/sidebar.json`;

/** Keeps the sidebar for the generator, which runs in a process of its own. */
export function writeSidebar(sidebar: readonly SidebarGroup[]): void {
  writeFileSync(file, JSON.stringify(sidebar));
}

/** Reads the sidebar that the build has written. */
export function readSidebar(): SidebarGroup[] {
  return JSON.parse(readFileSync(file, 'utf8')) as SidebarGroup[];
}
