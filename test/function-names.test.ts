import { RuleTester } from 'oxlint/plugins-dev';
import { describe, test } from 'vitest';
import { functionNames } from '../scripts/lint/function-names.ts';

RuleTester.describe = describe;
RuleTester.it = test;

new RuleTester({ languageOptions: { parserOptions: { lang: 'ts' } } }).run(
  'function-names',
  functionNames,
  {
    valid: [
      { name: 'a participle may be an adjective', code: 'function checkedInput() {}' },
      { name: 'a computed name is no word', code: 'class Run { [Symbol.iterator]() {} }' },
      { name: 'a getter may be a participle', code: 'class Run { get ended() { return true; } }' },
      {
        name: 'a handler may have the name of its event',
        code: 'f({ suspended() {}, resumed: () => 1 });',
      },
      { name: 'a verb and a public name are allowed', code: 'function seed() {} f.settled();' },
      { name: 'a variable that is no function is left to noun-names', code: 'const merged = f();' },
    ],
    invalid: [
      {
        name: 'a function whose name is a participle is refused',
        code: 'function merged() {}',
        errors: [{ message: /^"merged" says neither/, line: 1, column: 9 }],
      },
      {
        name: 'methods and private methods count, too',
        code: 'class Items { listed() {} #later() {} }',
        errors: [{ message: /^"listed"/ }, { message: /^"later"/ }],
      },
      {
        name: 'a method of an interface and an arrow function count, too',
        code: 'interface Meter { corrected(): number } const again = () => 1;',
        errors: [{ message: /^"corrected"/ }, { message: /^"again"/ }],
      },
    ],
  },
);
