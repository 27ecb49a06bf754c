import { RuleTester } from 'oxlint/plugins-dev';
import { describe, test } from 'vitest';
import { nounNames } from '../scripts/lint/noun-names.ts';

RuleTester.describe = describe;
RuleTester.it = test;

const far = '\n\n\n';

new RuleTester({ languageOptions: { parserOptions: { lang: 'ts' } } }).run(
  'noun-names',
  nounNames,
  {
    valid: [
      {
        name: 'a participle may be used up to two lines below',
        code: 'const made = 1;\n\nf(made);',
      },
      {
        name: 'a participle may be an adjective',
        code: `const knownTools = 1;${far}f(knownTools);`,
      },
      {
        name: 'a property may have the name',
        code: `const call = { given: 1 };${far}f(call.given);`,
      },
      {
        name: 'a use of another variable of the name does not count',
        code: `function f(given) { return given; }${far}function g(given) { return given; }`,
      },
    ],
    invalid: [
      {
        name: 'a variable that is used three lines below is refused',
        code: `const made = 1;${far}f(made);`,
        errors: [{ message: /^"made" is used 3 lines below\./, line: 1, column: 6 }],
      },
      {
        name: 'a parameter and an unpacked property count, too',
        code: `function f(given: number, { left }: Counts) {${far}return given + left;\n}`,
        errors: [{ message: /^"given"/ }, { message: /^"left"/ }],
      },
      {
        name: 'a use in an inner function counts',
        code: `function f(seen) {${far}return () => seen;\n}`,
        errors: [{ message: /^"seen"/ }],
      },
    ],
  },
);
