/// <reference path="../provided-context.d.ts" />
import { aroundAll, inject } from 'vitest';

// Fails a file if the shared model has refused a request. The built pages send their requests
// outside of the tests, and a page may hide the error. Files run side by side, so another file may
// be at fault.
aroundAll(async (runFile) => {
  await runFile();
  const response = await fetch(`${inject('heldModelUrl')}/refusals`);
  const refusals = (await response.json()) as readonly string[];
  if (refusals.length) throw new Error([...new Set(refusals)].join('\n'));
});
