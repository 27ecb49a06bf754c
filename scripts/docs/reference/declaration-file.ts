import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { parseSync, type ESTree } from 'vite';

/** A top-level declaration of a `.d.ts` file. */
export type DeclarationNode =
  | ESTree.TSInterfaceDeclaration
  | ESTree.TSTypeAliasDeclaration
  | ESTree.Class
  | ESTree.Function
  | ESTree.VariableDeclaration;

/** A declaration with its place and its documentation. */
export interface Declaration {
  readonly name: string;
  /** More than one for the overloads of a function. */
  readonly nodes: readonly DeclarationNode[];
  readonly file: DeclarationFile;
}

/** A parsed `.d.ts` file. TypeScript has already written the type of each export into it. */
export class DeclarationFile {
  private static readonly files = new Map<string, DeclarationFile>();

  readonly path: string;
  readonly source: string;
  private readonly declarations = new Map<string, DeclarationNode[]>();
  /** By local name: the module and the name in it. */
  private readonly imports = new Map<string, readonly [module: string, name: string]>();
  /** By exported name: the module, or undefined for a local name, and the name in it. */
  readonly exports: ReadonlyMap<string, readonly [module: string | undefined, name: string]>;
  private readonly docs = new Map<number, string>();

  private constructor(path: string) {
    this.path = path;
    this.source = readFileSync(path, 'utf8');
    const { program, comments } = parseSync(path, this.source);
    for (const { type, value, end } of comments) {
      const space = /^\s*/.exec(this.source.slice(end))?.[0].length ?? 0;
      if (type === 'Block' && value.startsWith('*')) this.docs.set(end + space, value);
    }
    const exports = new Map<string, readonly [module: string | undefined, name: string]>();
    for (const statement of program.body) this.readStatement(statement, exports);
    this.exports = exports;
  }

  /** Reads a file once. */
  static read(path: string): DeclarationFile {
    const known = this.files.get(path);
    if (known) return known;
    const file = new DeclarationFile(path);
    this.files.set(path, file);
    return file;
  }

  /** Returns the text of the documentation comment above a node. */
  docOf(start: number): string {
    return (this.docs.get(start) ?? '').replace(/^[ \t]*\*+ ?/gm, '').trim();
  }

  /** Returns the declaration of a name that this file declares, imports or exports. */
  resolve(name: string): Declaration | undefined {
    const nodes = this.declarations.get(name);
    if (nodes) return { name, nodes, file: this };
    const [module, original] = this.imports.get(name) ?? this.exports.get(name) ?? [];
    if (original === undefined) return undefined;
    if (module === undefined) return original === name ? undefined : this.resolve(original);
    return this.neighbor(module)?.resolve(original);
  }

  private neighbor(module: string): DeclarationFile | undefined {
    if (!module.startsWith('.')) return undefined;
    const path = join(dirname(this.path), module.replace(/(?:\.d)?\.[jt]s$/, '.d.ts'));
    return existsSync(path) ? DeclarationFile.read(path) : undefined;
  }

  private readStatement(
    statement: ESTree.Statement | ESTree.ModuleDeclaration,
    exports: Map<string, readonly [module: string | undefined, name: string]>,
  ): void {
    if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers) {
        const name = specifier.type === 'ImportSpecifier' ? nameOf(specifier.imported) : '*';
        this.imports.set(specifier.local.name, [statement.source.value, name]);
      }
    }
    if (statement.type !== 'ExportNamedDeclaration') {
      this.keep(statement, statement.start);
      return;
    }
    for (const { local, exported } of statement.specifiers)
      exports.set(nameOf(exported), [statement.source?.value, nameOf(local)]);
    if (statement.declaration === null) return;
    for (const name of this.keep(statement.declaration, statement.start))
      exports.set(name, [undefined, name]);
  }

  /** Keeps a declaration. Its documentation stands before `start`, the start of the statement. */
  private keep(node: ESTree.Node, start: number): readonly string[] {
    const doc = this.docs.get(start);
    if (doc !== undefined) this.docs.set(node.start, doc);
    if (node.type === 'VariableDeclaration') {
      const names = node.declarations.flatMap(({ id }) =>
        id.type === 'Identifier' ? id.name : [],
      );
      for (const name of names) this.declarations.set(name, [node]);
      return names;
    }
    if (!isNamed(node) || !node.id) return [];
    const { name } = node.id;
    this.declarations.set(name, [...(this.declarations.get(name) ?? []), node]);
    return [name];
  }
}

type Named = Exclude<DeclarationNode, ESTree.VariableDeclaration>;

function isNamed(node: ESTree.Node): node is Named {
  return [
    'TSInterfaceDeclaration',
    'TSTypeAliasDeclaration',
    'ClassDeclaration',
    'TSDeclareFunction',
    'FunctionDeclaration',
  ].includes(node.type);
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name;
}
