import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fitProfiles } from './tokens/fit-profiles.ts';
import { renderWeights, weightsPath } from './tokens/weights-file.ts';

const written = existsSync(weightsPath) ? readFileSync(weightsPath, 'utf8') : '';
const fitted = renderWeights(fitProfiles());
const same = fitted === written;
if (process.argv.includes('--check')) {
  console.log(
    same
      ? 'The weights in the repository match the fit.'
      : 'The weights in the repository do not match the fit. Run npm run tokens:fit.',
  );
  process.exitCode = same ? 0 : 1;
} else {
  writeFileSync(weightsPath, fitted);
  console.log(same ? 'The weights have not changed.' : `Wrote ${weightsPath}.`);
}
