import { readFileSync, writeFileSync } from 'node:fs';
import { packageFolders } from './packages.ts';
import { withCompleteLinks } from './packed-files.ts';
import { root } from './root.ts';

/**
 * Writes the address of the repository into the packages before they are published. npm accepts a
 * provenance statement only if `package.json` names the repository that the statement names. The
 * release workflow knows the address. Links of the READMEs to the repository become complete.
 */
const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
if (!server || !name) throw new Error('GITHUB_SERVER_URL and GITHUB_REPOSITORY are not set.');
for (const folder of [...packageFolders, 'create-isoloop']) {
  const path = `${root}/packages/${folder}/package.json`;
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as object;
  const repository = {
    type: 'git',
    url: `git+${server}/${name}.git`,
    directory: `packages/${folder}`,
  };
  writeFileSync(path, `${JSON.stringify({ ...manifest, repository }, undefined, 2)}\n`);
  const readme = `${root}/packages/${folder}/README.md`;
  const text = readFileSync(readme, 'utf8');
  writeFileSync(readme, withCompleteLinks(text, `${server}/${name}`));
}
