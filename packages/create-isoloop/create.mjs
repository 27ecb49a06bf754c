#!/usr/bin/env node
import { basename, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createProject, templateNames, WrongUse } from './project.mjs';

const usage = `Usage: npm create isoloop@latest FOLDER -- --template TEMPLATE

  assistant  a chat in the browser: Vite, React, an agent in a Web Worker
  endpoint   a chat endpoint on Cloudflare Workers, with a Durable Object for each conversation
  both       one conversation in the tab and at the edge`;

try {
  const { values, positionals } = readArguments();
  if (values.help) console.log(usage);
  else create(positionals, values.template);
} catch (error) {
  if (!(error instanceof WrongUse)) throw error;
  console.error(`${error.message}\n\n${usage}`);
  process.exitCode = 1;
}

/** Returns the arguments. An unknown option is a wrong use. */
function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { template: { type: 'string', short: 't' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch (cause) {
    throw new WrongUse(cause.message, { cause });
  }
}

function create([given, ...more], template) {
  if (given === undefined) throw new WrongUse('Name the folder of the new project.');
  if (more.length > 0) throw new WrongUse(`There is more than one folder: ${more.join(', ')}.`);
  if (template === undefined)
    throw new WrongUse(`Choose a template with --template: ${templateNames().join(', ')}.`);
  const folder = resolve(given);
  createProject(folder, template);
  const shown = relative(process.cwd(), folder) || basename(folder);
  console.log(`Created ${shown} from the template "${template}". Next:\n`);
  console.log(`  cd ${/\s/.test(shown) ? `"${shown}"` : shown}\n  npm install\n  npm run dev\n`);
  console.log(
    'A scripted stand-in answers until you choose a model. README.md in the project says how.',
  );
}
