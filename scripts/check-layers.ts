import { readFileSync } from 'node:fs';
import { findFiles } from './find-files.ts';
import { layerViolations } from './layers.ts';
import { root } from './root.ts';

const files = findFiles('packages/*/src/**/*.ts').map((path) => ({
  path,
  source: readFileSync(`${root}/${path}`, 'utf8'),
}));
const violations = layerViolations(files);
for (const line of violations) console.error(line);
if (violations.length > 0) {
  console.error(`${violations.length} imports break the layer rule (docs/contributing/layers.md).`);
  process.exitCode = 1;
} else {
  console.log(`Layer rule: no violations in ${files.length} files.`);
}
