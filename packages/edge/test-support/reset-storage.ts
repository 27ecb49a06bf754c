import { reset } from 'cloudflare:test';
import { afterAll } from 'vitest';

// Test files share one workerd. Leftover keys would slow down tests that list keys.
afterAll(reset);
