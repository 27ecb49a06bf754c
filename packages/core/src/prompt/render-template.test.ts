import { expect, test } from 'vitest';
import {
  renderTemplate,
  type TemplateOptions,
  type TemplateVariables,
} from './prompt-variables.ts';

test.each<[text: string, variables: TemplateVariables, rendered: string]>([
  ['Hello ${name}.', { name: 'Ann' }, 'Hello Ann.'],
  ['${a}${b}${a}', { a: '1', b: '2' }, '121'],
  ['${a} ${unknown} ${a b} ${} $a {a} \\${a}', { a: 'x' }, 'x ${unknown} ${a b} ${} $a {a} \\x'],
  ['${a}', { a: '${b} ${a} $& $1 $$', b: 'no' }, '${b} ${a} $& $1 $$'],
  ['${a', { a: '${b}' }, '${a'],
  ['$${a}', { a: '{b}' }, '${b}'],
  ['${城市} ${été} ${n_1}', { 城市: '東京', été: 'ja', n_1: 1 }, '東京 ja 1'],
  [
    '${n} ${b} ${o} ${z} ${u}',
    { n: 1.5, b: false, o: { a: ['x'] }, z: null, u: undefined },
    '1.5 false {"a":["x"]} null ${u}',
  ],
  ['${constructor} ${toString} ${__proto__}', {}, '${constructor} ${toString} ${__proto__}'],
  ['', { a: 'x' }, ''],
])('renderTemplate() renders %j with %j', (text, variables, rendered) => {
  expect(renderTemplate(text, variables)).toBe(rendered);
});

test.each<[text: string, rendered: string]>([
  ['Hello {name}, {unknown}.', 'Hello Ann, {unknown}.'],
  ['{"name": "x", "list": [{}]} {name}', '{"name": "x", "list": [{}]} Ann'],
  ['{{name}} { name } {na-me}', '{Ann} { name } {na-me}'],
  ['${name}', '$Ann'],
  ['{twice}', '{name} ${name}'],
])("with `form: '{}'`, renderTemplate() replaces variables in braces: %j", (text, rendered) => {
  expect(renderTemplate(text, { name: 'Ann', twice: '{name} ${name}' }, { form: '{}' })).toBe(
    rendered,
  );
});

test("with `missing: 'fail'`, the error names all missing variables", () => {
  const error = expect.objectContaining({
    code: 'INVALID_INPUT',
    message: 'The prompt has variables without a value: b, c.',
    details: { missing: ['b', 'c'] },
  });
  expect(() =>
    renderTemplate('${a} ${b} ${c} ${b}', { a: '${d}', c: undefined }, { missing: 'fail' }),
  ).toThrow(error);
  expect(renderTemplate('${a}', { a: '${d}' }, { missing: 'fail' })).toBe('${d}');
});

test('renderTemplate() takes linear time for a long text of possible variables', () => {
  for (const piece of ['${', '{', '$', '${a', '{a{']) {
    const text = piece.repeat(200_000);
    expect(renderTemplate(text, { a: 'x' })).toBe(text);
    expect(renderTemplate(text, { a: 'x' }, { form: '{}' })).toBe(text);
  }
  const name = `\${${'a'.repeat(1_000_000)}`;
  expect(renderTemplate(name, {})).toBe(name);
});

test.each<[text: unknown, variables: unknown, options: unknown]>([
  [5, {}, {}],
  [undefined, {}, {}],
  ['', null, {}],
  ['', 'x', {}],
  ['', {}, { form: '{{}}' }],
  ['', {}, { missing: 'throw' }],
])('renderTemplate() rejects the arguments %j, %j, %j', (text, variables, options) => {
  const render = (): string =>
    renderTemplate(text as string, variables as TemplateVariables, options as TemplateOptions);
  expect(render).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
});
