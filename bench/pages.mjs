// `npm run bench -- pages [--write]`: the same chat page written with AI SDK and with
// `useAgentChat`: files, tools, approvals, stop, retry, edits and resume, at an endpoint of
// `@isoloop/edge`. Both use the same components. Counts the page's bytes beside React, and its
// lines of code beside the components. The pages are in
// `packages/web-worker/test-support/chat-pages`, where tests run them.
import { readFileSync } from 'node:fs';
import { pageSize } from './lib/page-size.mjs';
import { writeSections } from './lib/results-file.mjs';

const folder = `${import.meta.dirname}/../packages/web-worker/test-support/chat-pages`;
const pages = { isoloop: 'isoloop-page', 'AI SDK': 'ai-sdk-page' };

export async function benchPages({ write }) {
  const rows = [];
  for (const [name, file] of Object.entries(pages)) {
    const path = `${folder}/${file}.tsx`;
    const bytes = await pageSize(`export { ChatPage } from ${JSON.stringify(path)};`);
    rows.push(`| ${name} | ${(bytes / 1000).toFixed(1)} | ${linesOf(path)} |`);
  }
  const body = [
    '| page | kB beside React, gzip | lines of code beside the components |',
    '| :-- | --: | --: |',
    ...rows,
  ].join('\n');
  console.log(body);
  if (write) writeSections([{ heading: 'one chat page', body }]);
}

/** Number of lines without blank ones. The files have no comments. */
function linesOf(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim()).length;
}
