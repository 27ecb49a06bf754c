import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { commandLine } from './command-line.ts';
import { htmlFolder } from './docs/site-folders.ts';
import { root } from './root.ts';
import { quietEnvironment } from './run-command.ts';

// Usage: node scripts/deploy.ts [OPTION…]. Puts the built documentation beside the demo's page and
// calls `wrangler deploy` with the options, such as `--dry-run`.

// A folder of its own: `wrangler dev` watches the demo's, and cuts all streams after a change
// there.
const assets = `${root}/dist/deploy`;
rmSync(assets, { recursive: true, force: true });
cpSync(`${root}/demo/dist`, assets, { recursive: true });
cpSync(htmlFolder, `${assets}/docs`, { recursive: true });
const options = ['deploy', '--assets', assets, ...process.argv.slice(2)];
const { file, args } = commandLine('wrangler', options);
const { status } = spawnSync(file, args, {
  cwd: root,
  env: quietEnvironment(),
  stdio: 'inherit',
});
process.exit(status ?? 1);
