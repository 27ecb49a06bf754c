import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { installPackages } from './local-packages.ts';
import { packageFolders } from './packages.ts';
import { root } from './root.ts';
import { runCommand } from './run-command.ts';

// Usage: npm --prefix ../isoloop run create -- FOLDER --template TEMPLATE. Creates a project and
// installs the packages of this repository. After a release, npm create does it.

const start = process.env['INIT_CWD'] ?? process.cwd();
const args = process.argv.slice(2);
const create = `${root}/packages/create-isoloop/create.mjs`;
const { ok, output } = await runCommand('node', [create, ...args], { cwd: start });
console.log(output.trim().replace('  npm install\n', ''));
if (!ok) process.exit(1);
const folder = /^Created (.+) from the template/m.exec(output)?.[1];
if (folder === undefined) process.exit(0);
const project = resolve(start, folder);
const manifest = readFileSync(`${project}/package.json`, 'utf8');
const names = packageFolders.filter((name) => manifest.includes(`"@isoloop/${name}"`));
await installPackages(project, names);
console.log('Its packages are installed.');
