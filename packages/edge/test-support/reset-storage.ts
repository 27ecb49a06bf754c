import { reset } from 'cloudflare:test';
import { showFailuresAs } from '@isoloop/core/error';
import { afterAll } from 'vitest';

// Test files share one workerd. Leftover keys would slow down tests that list keys.
afterAll(reset);
// An endpoint hides secrets in the warnings of core, which core's own tests read as they are.
afterAll(() => showFailuresAs((failure) => failure));
