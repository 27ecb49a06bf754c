/** An example that runs in the reader's tab. */
export interface LiveProgram {
  /** Name of the region in `test/examples`. */
  readonly name: string;
  /** The code that the page shows, in TypeScript. */
  readonly code: string;
  /** What the example needs before its code, such as a scripted model. */
  readonly setup: string;
  /** What the setup needs; the code has its own imports. */
  readonly imports: readonly LiveImport[];
}

/** An imported name. */
export interface LiveImport {
  readonly local: string;
  /** Name in the module, or `*` for all its exports. */
  readonly imported: string;
  readonly module: string;
}

/** Returns the program as one module in TypeScript. The imports of the code come first. */
export function programText({ code, setup, imports }: Omit<LiveProgram, 'name'>): string {
  const own = importedNames(code);
  const lines = imports.filter(({ local }) => !own.has(local)).map(importLine);
  return [...lines, setup, code].join('\n');
}

/** Returns the names that a module imports. */
function importedNames(code: string): ReadonlySet<string> {
  const statements = [...code.matchAll(/^import\s+(?:type\s+)?([\s\S]*?)\s+from\s+'/gm)];
  const names = statements.flatMap(([, clause = '']) =>
    clause
      .replace(/[{}]/g, ',')
      .split(',')
      .map((part) =>
        part
          .trim()
          .replace(/^type\s+/, '')
          .split(/\s+as\s+/)
          .at(-1)!,
      ),
  );
  return new Set(names.filter(Boolean));
}

function importLine({ local, imported, module }: LiveImport): string {
  if (imported === '*') return `import * as ${local} from '${module}';`;
  const name = imported === local ? local : `${imported} as ${local}`;
  return `import { ${name} } from '${module}';`;
}
