import { parseSync } from 'vite';

export interface ModuleImport {
  readonly specifier: string;
  /**
   * Whether the import is `import type …` or `export type … from …`, which does not exist at run
   * time.
   */
  readonly typeOnly: boolean;
  readonly line: number;
}

/**
 * Returns the modules that a module imports, re-exports or loads with `import('…')`. Throws if the
 * source cannot be parsed.
 */
export function moduleImports(fileName: string, source: string): readonly ModuleImport[] {
  const { module, errors } = parseSync(fileName, source);
  if (errors.length > 0) throw new Error(`${fileName}: ${errors[0]?.message ?? 'not parsed'}`);
  const lineAt = (offset: number): number => source.slice(0, offset).split('\n').length;
  const statements = [
    ...module.staticImports.map(({ start, end, moduleRequest }) => ({
      start,
      end,
      request: moduleRequest,
    })),
    ...module.staticExports.flatMap(({ start, end, entries }) => {
      const request = entries.find((entry) => entry.moduleRequest)?.moduleRequest;
      return request ? [{ start, end, request }] : [];
    }),
  ];
  const dynamic = module.dynamicImports.flatMap(({ start, moduleRequest }) => {
    const text = source.slice(moduleRequest.start, moduleRequest.end);
    const literal = /^(['"`])([^'"`$]*)\1$/.exec(text)?.[2];
    return literal === undefined
      ? []
      : [{ specifier: literal, typeOnly: false, line: lineAt(start) }];
  });
  return [
    ...statements.map(({ start, end, request }) => ({
      specifier: request.value,
      typeOnly: /^(?:import|export)\s+type\b/.test(source.slice(start, end)),
      line: lineAt(start),
    })),
    ...dynamic,
  ];
}
