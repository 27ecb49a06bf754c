import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OTHER } from '../../packages/core/src/tokens/text-features.ts';
import { featureNames } from '../../scripts/tokens/features.ts';
import { fitProfiles } from '../../scripts/tokens/fit-profiles.ts';
import { renderWeights, weightsPath } from '../../scripts/tokens/weights-file.ts';

test('the generated weights are the same as the weights of a new fit', () => {
  expect(renderWeights(fitProfiles())).toBe(readFileSync(weightsPath, 'utf8'));
});

test('each counter has a weight', () => {
  expect(featureNames).toHaveLength(OTHER + 1);
  expect(new Set(featureNames).size).toBe(featureNames.length);
});
