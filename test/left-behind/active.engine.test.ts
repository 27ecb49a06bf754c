import { afterAll, beforeAll, expect, test } from 'vitest';
import { registry } from './things.ts';

// These tests run in each project, and show that its setup file has begun the check.
beforeAll(() => expect(scopes()).toEqual([undefined, 'file']));
afterAll(() => expect(scopes()).toEqual([undefined, 'file']));

const scopes = (): unknown[] => [registry.test?.what, registry.file?.what];

test('the check watches each test, and the hooks of its file', () => {
  expect(scopes()).toEqual(['test', 'file']);
});

// Nothing else in its body can fail, so only the check makes this test fail as it has to.
test.fails('a test that leaves an unhandled rejection fails', async () => {
  void Promise.reject(new Error('nobody handles it'));
});
