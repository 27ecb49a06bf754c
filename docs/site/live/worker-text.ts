import { programText, type LiveProgram } from './live-program.ts';

/**
 * Returns the text of an example's worker: JavaScript whose imports are addresses below `base`.
 * `strip` removes the types.
 *
 * Throws a `SyntaxError` for invalid code, and for an import that the live examples do not have.
 */
export function workerText(
  program: Omit<LiveProgram, 'name'>,
  base: string,
  strip: (code: string) => string,
): string {
  const code = strip(programText(program)).replace(
    /^(import\b[^'"]*?|export\s*(?:\*[^'"]*|\{[^}]*\}\s*)from\s*)(['"])([^'"]+)\2/gm,
    (_, start: string, quote: string, module: string) => {
      return `${start}${quote}${base}${fileOfModule(module)}${quote}`;
    },
  );
  return `import '${base}start-worker.js';\n${code}\n;postMessage({ type: 'done' });\n`;
}

/** Returns the file of a module among the libraries of the live examples. */
export function fileOfModule(module: string): string {
  const known = /^(?:@isoloop\/(?:core(?:\/[\w-]+)?|guards|presets|recall)|zod)$/.test(module);
  if (!known)
    throw new SyntaxError(
      `A live example can import @isoloop/core, its entries, guards, presets, recall and zod, and not ${module}.`,
    );
  return `${module.replace('@', '').replaceAll('/', '-')}.js`;
}
