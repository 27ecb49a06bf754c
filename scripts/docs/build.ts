import { packageFolders } from '../packages.ts';
import { runCommand } from '../run-command.ts';
import { brokenSiteLinks } from './broken-links.ts';
import { buildLive } from './live/build-live.ts';
import { readLivePrograms } from './live/read-programs.ts';
import { NameLinks } from './reference/name-links.ts';
import { readReference } from './reference/reference-pages.ts';
import { buildSearchIndex } from './search-index.ts';
import { sidebarOf } from './sidebar.ts';
import { writeSidebar } from './sidebar-file.ts';
import { htmlFolder, siteFolder } from './site-folders.ts';
import { isChinese } from './site-page.ts';
import { indexPath, readSitePages } from './site-pages.ts';
import { isSiteBuilt, markBuilt, markUnfinished } from './site-state.ts';
import { stageSite } from './stage-site.ts';

// Usage: npm run docs [-- --if-changed]. Builds the site into dist/docs/html. With `--if-changed`,
// keeps a site whose sources have not changed since.

if (process.argv.includes('--if-changed') && isSiteBuilt()) process.exit(0);
const begin = Date.now();
markUnfinished();
await run('tsc', ['-b', ...packageFolders.map((name) => `packages/${name}`)]);
const reference = readReference();
const written = readSitePages();
const pages = [...written, ...reference.pages];
const index = pages.find(({ path }) => path === indexPath);
if (!index) throw new Error(`There is no ${indexPath}.`);
const programs = readLivePrograms();
const live = new Set(programs.map(({ name }) => name));
stageSite(pages, new NameLinks(reference.items), (example) => live.has(example));
await buildLive(programs);
await run('node', ['scripts/docs/live/check-programs.ts']);
writeSidebar(sidebarOf(index, written, reference.pages));
await run('astro', ['build', '--root', siteFolder]);
const broken = brokenSiteLinks(htmlFolder);
if (broken.length > 0) fail(`Links of the site lead nowhere:\n${broken.join('\n')}`);
await buildSearchIndex(pages.filter(({ address }) => isChinese(address)));
markBuilt(begin);
console.log(`${pages.length} pages in ${((Date.now() - begin) / 1000).toFixed(1)} s.`);

async function run(command: string, args: readonly string[]): Promise<void> {
  const { ok, output } = await runCommand(command, args, {
    env: { ASTRO_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' },
  });
  if (ok) return;
  fail(`${output}\n${command} failed.`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
