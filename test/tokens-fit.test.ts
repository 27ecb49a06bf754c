import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OTHER } from '../packages/core/src/tokens/features/character-class.ts';
import { featureNames } from '../scripts/tokens/features.ts';
import { fitProfiles } from '../scripts/tokens/fit-profiles.ts';
import { renderWeights, weightsPath } from '../scripts/tokens/weights-file.ts';

test('the generated weights are what the fit gives, run again', () => {
  expect(renderWeights(fitProfiles())).toBe(readFileSync(weightsPath, 'utf8'));
});

test('there is a weight for each counter', () => {
  expect(featureNames).toHaveLength(OTHER + 1);
  expect(new Set(featureNames).size).toBe(featureNames.length);
});
