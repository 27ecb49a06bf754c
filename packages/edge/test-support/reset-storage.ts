import { reset } from 'cloudflare:test';
import { afterAll } from 'vitest';

// Files share a workerd: what one stored would slow down those that list keys.
afterAll(reset);
