import { existsSync } from 'node:fs';
import { installPackages } from './local-packages.ts';
import { packageFolders } from './packages.ts';
import { root } from './root.ts';

// Usage, in a project's folder beside this repository: npm --prefix ../isoloop run add.
// Installs the packages of this repository and zod there. After a release, npm install does it.

const project = process.env['INIT_CWD'] ?? process.cwd();
if (project === root || !existsSync(`${project}/package.json`)) {
  console.error(`There is no package.json in ${project}, or it is this repository.`);
  console.error("Run this command in your project's folder. npm init -y makes one.");
  process.exit(1);
}
await installPackages(project, packageFolders, ['zod']);
console.log(`Installed zod and the packages of Isoloop in ${project}.`);
