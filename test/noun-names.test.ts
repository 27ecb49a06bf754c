import { RuleTester } from 'oxlint/plugins-dev';
import { describe, test } from 'vitest';
import { nounNames } from '../scripts/lint/noun-names.ts';

RuleTester.describe = describe;
RuleTester.it = test;

new RuleTester({ languageOptions: { parserOptions: { lang: 'ts' } } }).run(
  'noun-names',
  nounNames,
  {
    valid: [
      { name: 'a participle may be an adjective', code: 'const knownTools = 1; f(knownTools);' },
      { name: 'a property may have the name', code: 'const call = { given: 1 }; f(call.given);' },
      {
        name: 'a property may be unpacked under another name',
        code: 'const { left: remaining } = counts; f(remaining);',
      },
      {
        name: 'an item of an array may be the first one',
        code: 'const [first, ...others] = names; f(first, others);',
      },
      { name: 'first and second may be a pair', code: 'function f(first: A, second: A) {}' },
      {
        name: 'a function may be open',
        code: 'const open = () => {}; f((open: () => void) => {});',
      },
      {
        name: 'a field keeps its name',
        code: 'const { own, above = 0 } = options; f(own, above);',
      },
    ],
    invalid: [
      {
        name: 'an adjective is refused',
        code: 'const open = f(); function g(all: string[]) { for (const first of all) h(first, open); }',
        errors: [{ message: /^"open"/ }, { message: /^"all"/ }, { message: /^"first"/ }],
      },
      {
        name: 'a variable with a participle as its whole name is refused',
        code: 'const made = f();',
        errors: [{ message: /^"made" does not say what it holds\./, line: 1, column: 6 }],
      },
      {
        name: 'a parameter and an unpacked property count, too',
        code: 'function f(given: number, { left }: Counts) { return given + left; }',
        errors: [{ message: /^"given"/ }, { message: /^"left"/ }],
      },
      {
        name: 'a function counts, too',
        code: 'function seen() {}',
        errors: [{ message: /^"seen"/ }],
      },
    ],
  },
);
