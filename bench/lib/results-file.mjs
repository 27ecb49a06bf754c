import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';

const file = `${import.meta.dirname}/../RESULTS.md`;

/**
 * Replaces the sections of RESULTS.md that have the same heading, apart from version numbers. Keeps
 * all other sections. Sections with only ratios come first.
 */
export function writeSections(sections) {
  const [preamble, ...old] = readFileSync(file, 'utf8')
    .trimEnd()
    .split(/\n+(?=## )/);
  const all = new Map(
    old.map((section) => [keyOf(section.slice(3, section.indexOf('\n'))), section]),
  );
  const load = os.loadavg().map((value) => value.toFixed(1));
  const machine = `${os.cpus().length} × ${os.cpus()[0].model}, load averages at the end ${load.join(', ')}`;
  const run = `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}.`;
  for (const { heading, body } of sections)
    all.set(keyOf(heading), `## ${heading}\n\n${run}\n\n${body.trim()}`);
  const isSummary = ([key]) => key.endsWith(': ratios');
  const sorted = [...all].toSorted((one, other) => isSummary(other) - isSummary(one));
  const texts = sorted.map(([, section]) => section);
  writeFileSync(file, `${[preamble, ...texts].join('\n\n')}\n`);
}

const keyOf = (heading) => heading.replace(/ [\d.]+:/, ':');
