import { estimateTokenCount } from 'tokenx';
import { decodeWeight } from '../packages/core/src/tokens/fitted-profile.ts';
import { arc } from '@isoloop/core/tokens';
import * as profiles from '../packages/core/src/tokens/profiles.ts';
import * as weights from '../packages/core/src/tokens/profile-weights.ts';
import { readSegments, tokenizers } from './tokens/corpus.ts';
import { featureNames } from './tokens/features.ts';
import {
  accuracyByGroup,
  accuracyOf,
  errorsOf,
  histories,
  historyErrors,
  type Accuracy,
  type Estimator,
} from './tokens/measure.ts';

// `npm run tokens:report` prints the errors of the estimates on the held-out texts. With
// `-- --weights` it prints the fitted weights.

const fitted = profiles as Readonly<
  Record<string, { countText(text: string): number } | undefined>
>;

/** Estimators that do not depend on the tokenizer. */
const others: Readonly<Record<string, Estimator>> = {
  generic: (text) => Math.round(profiles.generic.countText(text)),
  arc: (text) => arc.countText(text),
  'chars/4': (text) => text.length / 4,
  tokenx: (text) => estimateTokenCount(text),
};

if (process.argv.includes('--weights')) printWeights();
else printReport();

function printReport(): void {
  const held = readSegments('held');
  console.log(`Mean absolute error per text, in percent, on ${held.length} held-out texts.`);
  const estimators = (tokenizer: string): Readonly<Record<string, Estimator>> => ({
    ours: profileOf(tokenizer),
    ...others,
  });

  const names = Object.keys(estimators('o200k'));
  const overall = names.map((name) => [
    name,
    ...tokenizers.map((tokenizer) =>
      described(accuracyOf(errorsOf(held, tokenizer, estimators(tokenizer)[name]!))),
    ),
  ]);
  printTable('All texts: mean, (bias), 95th percentile', ['', ...tokenizers], overall);

  for (const name of names) {
    const columns = tokenizers.map((tokenizer) =>
      accuracyByGroup(held, errorsOf(held, tokenizer, estimators(tokenizer)[name]!)),
    );
    const groups = [...columns[0]!.keys()].map((group) => [
      group,
      ...columns.map((column) => described(column.get(group)!)),
    ]);
    const macro = columns.map((column) => {
      const means = [...column.values()].map(({ mean }) => mean);
      return percent(means.reduce((a, b) => a + b) / means.length);
    });
    printTable(
      `By script and kind, ${name}: mean, (bias), 95th percentile`,
      ['', ...tokenizers],
      [...groups, ['mean of these', ...macro]],
    );
  }

  for (const name of names) {
    const rows = Object.entries(histories).map(([history, parts]) => [
      history,
      ...tokenizers.map((tokenizer) => {
        const estimates = held.map(({ text }) => estimators(tokenizer)[name]!(text));
        return described(accuracyOf(historyErrors(held, { parts, tokenizer, estimates })));
      }),
    ]);
    printTable(
      `300 histories of 8,000 tokens, ${name}: mean, (bias), 95th percentile`,
      ['', ...tokenizers],
      rows,
    );
  }
}

function profileOf(tokenizer: string): Estimator {
  const profile = fitted[tokenizer]!;
  return (text) => Math.round(profile.countText(text));
}

function described({ mean, bias, p95 }: Accuracy): string {
  return `${percent(mean)} (${percent(bias)}) ${percent(p95)}`;
}

function percent(ratio: number): string {
  return (ratio * 100).toFixed(1);
}

function printTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const width = (column: number): number =>
    Math.max(...[head, ...rows].map((row) => row[column]!.length));
  console.log(`\n${title}`);
  for (const row of [head, ...rows]) {
    console.log(
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(width(0)) : cell.padStart(width(column)),
        )
        .join('  '),
    );
  }
}

function printWeights(): void {
  const names = [...tokenizers, 'generic'];
  const columns = names.map((name) =>
    [...(weights as Readonly<Record<string, string>>)[`${name}Weights`]!].map(decodeWeight),
  );
  const rows = featureNames.map((feature, i) => [
    feature,
    ...columns.map((column) => column[i]!.toFixed(2)),
  ]);
  printTable('Weights', ['', ...names], rows);
}
