import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const templates = join(import.meta.dirname, 'templates');

/** Folders whose files make up a template. */
const folders = {
  assistant: ['assistant', 'shared/agent', 'shared/page'],
  both: ['both', 'shared/agent', 'shared/page'],
  endpoint: ['endpoint', 'shared/agent'],
};

/** Error in what the user wrote. Its message says what to write. */
export class WrongUse extends Error {}

/** Returns the names of the templates. */
export function templateNames() {
  return Object.keys(folders);
}

/**
 * Writes a new project into a folder, which must be empty or not exist. Throws `WrongUse` for an
 * unknown template, a folder with files, and a folder whose name npm refuses.
 */
export function createProject(folder, template) {
  const names = templateNames();
  if (!names.includes(template))
    throw new WrongUse(`There is no template "${template}". Templates: ${names.join(', ')}.`);
  const name = packageName(folder);
  checkFolder(folder);
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));
  const values = { name, version, token: randomUUID() };
  for (const from of folders[template]) copyFiles(join(templates, from), folder, values);
}

/** Copies the files of a folder, and fills in the values. */
function copyFiles(from, folder, values) {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(folder, source.slice(from.length + 1).replace(/(^|[\\/])_/, '$1.'));
    mkdirSync(dirname(target), { recursive: true });
    const text = readFileSync(source, 'utf8');
    writeFileSync(
      target,
      text.replace(/\{\{(name|version|token)\}\}/g, (_, key) => values[key]),
    );
  }
}

function checkFolder(folder) {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) throw new WrongUse(`${folder} is a file.`);
  if (readdirSync(folder).some((file) => file !== '.git'))
    throw new WrongUse(`${folder} is not empty. Choose another folder, or empty it first.`);
}

/** Returns the name of the folder as a package name that npm and Wrangler accept. */
function packageName(folder) {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  if (!name)
    throw new WrongUse(`"${basename(folder)}" has no letters or digits from a to z and 0 to 9.`);
  return name;
}
