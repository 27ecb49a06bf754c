import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { htmlFolder } from './docs/site-folders.ts';
import { root } from './root.ts';
import { quietEnvironment } from './run-command.ts';

// Usage: node scripts/deploy.ts [OPTION…]. Puts the built documentation beside the demo's page and
// calls `wrangler deploy` with the options, such as `--dry-run`.

const target = `${root}/demo/dist/docs`;
rmSync(target, { recursive: true, force: true });
cpSync(htmlFolder, target, { recursive: true });
const { status } = spawnSync('wrangler', ['deploy', ...process.argv.slice(2)], {
  cwd: root,
  env: quietEnvironment(),
  stdio: 'inherit',
});
process.exit(status ?? 1);
