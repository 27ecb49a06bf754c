import { beforeAll, expect, test } from 'vitest';
import { fakeClock } from '../clock/fake-clock.ts';
import { registry } from './things.ts';

// These tests run in each project, and show that its setup file has begun the check.

const scopes = (): unknown[] => [registry.test?.what, registry.file?.what];

let scopesOfHook: unknown[] = [];
beforeAll(() => void (scopesOfHook = scopes()));

test('the check watches each test, and the hooks of its file', () => {
  expect(scopesOfHook).toEqual([undefined, 'file']);
  expect(scopes()).toEqual(['test', 'file']);
});

// Nothing in its body throws, so only the check makes this test fail as it has to.
// oxlint-disable-next-line vitest/expect-expect -- The check is the only thing that can fail.
test.fails('a test that leaves a timer of its fake clock fails', () => {
  fakeClock();
  setTimeout(() => {}, 10);
});
