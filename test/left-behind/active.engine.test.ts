import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeClock } from '../clock/fake-clock.ts';
import { registry } from './things.ts';

// These tests run in each project, and show that its setup file has begun the check.
beforeAll(() => expect(scopes()).toEqual([undefined, 'file']));
afterAll(() => expect(scopes()).toEqual([undefined, 'file']));

const scopes = (): unknown[] => [registry.test?.what, registry.file?.what];

test('the check watches each test, and the hooks of its file', () => {
  expect(scopes()).toEqual(['test', 'file']);
});

// Nothing in its body throws, so only the check makes this test fail as it has to.
test.fails('a test that leaves a timer of its fake clock fails', () => {
  fakeClock();
  setTimeout(() => {}, 10);
});
