import { readFileSync } from 'node:fs';
import { parseSync, type ESTree } from 'vite';
import type { LiveImport, LiveProgram } from '../../../docs/site/live/live-program.ts';
import { findFiles } from '../../find-files.ts';
import { regionsIn } from '../../readme-examples.ts';
import { root } from '../../root.ts';
import { namesDeclaredIn, namesUsedIn } from './names.ts';

/** Modules that a live example may import. All of them run in a worker without a server. */
export const liveModules: RegExp =
  /^(?:@isoloop\/(?:core(?:\/[\w-]+)?|guards|presets|recall)|zod)$/;

/** Reads the examples in `test/examples` that need no server, and thus run in the reader's tab. */
export function readLivePrograms(): readonly LiveProgram[] {
  return findFiles('test/examples/**/*.test.ts').flatMap((file) =>
    programsIn(file, readFileSync(`${root}/${file}`, 'utf8')),
  );
}

/** Returns the live examples of a test file: the regions whose test needs nothing from outside. */
export function programsIn(file: string, source: string): readonly LiveProgram[] {
  const { program } = parseSync(file, source);
  const test = new TestFile(source, program.body);
  return [...regionsIn([source])].flatMap(([name, code]) => test.program(name, code) ?? []);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

class TestFile {
  readonly #source: string;
  readonly #imports: readonly LiveImport[];
  /** Names of helpers that stand for a server. */
  readonly #servers: ReadonlySet<string>;
  /** Names that exist only in tests. */
  readonly #foreign: ReadonlySet<string>;
  readonly #top: readonly ESTree.Node[];
  /** Bodies of the tests. */
  readonly #bodies: readonly ESTree.FunctionBody[];

  constructor(source: string, body: readonly ESTree.Node[]) {
    this.#source = source;
    const imports = body.flatMap((node) =>
      node.type === 'ImportDeclaration' ? importsOf(node) : [],
    );
    this.#imports = imports.filter(({ module }) => liveModules.test(module));
    const helpers = imports.filter(
      ({ module, local }) => module.startsWith('.') || local === 'inject',
    );
    this.#servers = new Set(helpers.map(({ local }) => local));
    const known = new Set(this.#imports);
    this.#foreign = new Set(imports.filter((each) => !known.has(each)).map(({ local }) => local));
    const rest = body.filter(({ type }) => type !== 'ImportDeclaration');
    this.#bodies = rest.flatMap(testBody);
    this.#top = rest.filter((node) => testBody(node).length === 0);
  }

  program(name: string, code: string): LiveProgram | undefined {
    const parts = this.#partsOf(name);
    const last = parts.at(-1);
    const body = this.#bodies.find((each) => last && contains(each, last));
    if (!last || !body) return undefined;
    if ([...namesUsedIn(body)].some((used) => this.#servers.has(used))) return undefined;
    const foreign = new Set(this.#foreign);
    const before = this.#kept(
      body.body.filter(
        (node) => node.end <= last.end && !parts.some((part) => contains(part, node)),
      ),
      foreign,
    );
    const shown = body.body.filter((node) => parts.some((part) => contains(part, node)));
    if (shown.some((node) => [...namesUsedIn(node)].some((used) => foreign.has(used)))) return;
    const top = this.#needed([...before, ...shown]);
    if (!top) return undefined;
    const setup = [...top, ...before];
    const used = new Set([...setup, ...shown].flatMap((node) => [...namesUsedIn(node)]));
    return {
      name,
      code,
      setup: setup.map((node) => this.#textOf(node)).join('\n'),
      imports: this.#imports.filter(({ local }) => used.has(local)),
    };
  }

  /** Returns the text of a statement without its indentation and without marks of regions. */
  #textOf({ start, end }: Span): string {
    const lineStart = this.#source.lastIndexOf('\n', start) + 1;
    const indent = ' '.repeat(start - lineStart);
    return this.#source
      .slice(start, end)
      .replace(/^ *\/\/ #(?:region|endregion).*\n/gm, '')
      .replaceAll(`\n${indent}`, '\n');
  }

  #partsOf(name: string): readonly Span[] {
    const pattern = new RegExp(`// #region ${name}\\n[\\s\\S]*?// #endregion`, 'g');
    return [...this.#source.matchAll(pattern)].map(({ 0: text, index }) => ({
      start: index,
      end: index + text.length,
    }));
  }

  /** Leaves out statements that use names of tests, and all that depend on them. */
  #kept(nodes: readonly ESTree.Node[], foreign: Set<string>): readonly ESTree.Node[] {
    return nodes.filter((node) => {
      const isForeign = [...namesUsedIn(node)].some((used) => foreign.has(used));
      if (isForeign) for (const declared of namesDeclaredIn(node)) foreign.add(declared);
      return !isForeign;
    });
  }

  /**
   * Returns the statements of the module that others need; `undefined` if one uses a test's name.
   */
  #needed(nodes: readonly ESTree.Node[]): readonly ESTree.Node[] | undefined {
    const needed = new Set<ESTree.Node>();
    const waiting = nodes.flatMap((node) => [...namesUsedIn(node)]);
    for (const name of waiting) {
      const node = this.#top.find((each) => namesDeclaredIn(each).has(name));
      if (!node || needed.has(node)) continue;
      needed.add(node);
      waiting.push(...namesUsedIn(node));
    }
    const top = this.#top.filter((node) => needed.has(node));
    const isForeign = top.some((node) =>
      [...namesUsedIn(node)].some((used) => this.#foreign.has(used)),
    );
    return isForeign ? undefined : top;
  }
}

function importsOf({ source, specifiers }: ESTree.ImportDeclaration): readonly LiveImport[] {
  return specifiers.map((specifier) => {
    const local = specifier.local.name;
    const module = source.value;
    if (specifier.type !== 'ImportSpecifier') return { local, imported: '*', module };
    const { imported } = specifier;
    return {
      local,
      imported: imported.type === 'Literal' ? imported.value : imported.name,
      module,
    };
  });
}

/** Returns the body of `test('…', () => { … })`, or an empty list for another statement. */
function testBody(node: ESTree.Node): readonly ESTree.FunctionBody[] {
  if (node.type !== 'ExpressionStatement' || node.expression.type !== 'CallExpression') return [];
  const { callee, arguments: given } = node.expression;
  const run = given.at(-1);
  if (callee.type !== 'Identifier' || callee.name !== 'test') return [];
  if (run?.type !== 'ArrowFunctionExpression' || run.body.type !== 'BlockStatement') return [];
  return [run.body as unknown as ESTree.FunctionBody];
}

function contains(outer: Span, inner: Span): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}
